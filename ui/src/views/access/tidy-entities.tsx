import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { tidyEntities } from '../../api/tidy.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useWork } from '../../components/use-work.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'

const text = strings.tidy
const path = 'identity/tidy'

/** So many are deleted by one call; between two of them it can be cancelled. */
const atOnce = 1000

type Counted = Awaited<ReturnType<typeof tidyEntities>>

/** Counts the entities that logins have left behind, and deletes them. */
export function TidyEntities() {
  const client = useQueryClient()
  const { can } = useCapabilities([path])
  const [unusedFor, setUnusedFor] = useState('90d')
  const [counted, setCounted] = useState<Counted>()
  /** How many are deleted; undefined before that has begun. */
  const [gone, setGone] = useState<number>()
  const counting = useWork()
  const removal = useWork()
  if (!can(path, 'update') || !can(path, 'sudo')) return null
  const count = (event: FormEvent) => {
    event.preventDefault()
    if (counting.isRunning) return counting.cancel()
    setGone(undefined)
    setCounted(undefined)
    void counting.run(async (signal) => {
      const body = { unused_for: unusedFor.trim(), dry_run: true }
      setCounted(await tidyEntities({ body }, { signal }))
    })
  }
  const remove = async (signal: AbortSignal) => {
    let sum = 0
    try {
      for (let isMore = true; isMore && !signal.aborted; ) {
        setGone(sum)
        const { data } = await tidyEntities({ body: { unused_for: unusedFor.trim(), limit: atOnce } })
        sum += data.count
        isMore = data.count > 0
      }
      setGone(sum)
    } finally {
      await client.invalidateQueries({ queryKey: ['entities'] })
    }
  }
  const found = counted?.data.count ?? 0
  return (
    <section className="panel" aria-labelledby="tidy-entities">
      <h2 id="tidy-entities">{text.entities}</h2>
      <p className="hint">{text.entitiesHint}</p>
      <form className="one-line" onSubmit={count}>
        <Field
          label={text.unusedFor}
          hint={text.unusedForHint}
          isRequired
          value={unusedFor}
          onChange={(value) => {
            counting.cancel()
            setUnusedFor(value)
            setCounted(undefined)
          }}
        />
        <Button type="submit">{counting.isRunning ? strings.cancel : text.count}</Button>
      </form>
      <Failure error={gone === undefined ? counting.error : removal.error} />
      <p role="status">
        {gone === undefined
          ? counted !== undefined && text.counted(found)
          : `${text.removed(gone, found)}${removal.step === 'cancelled' ? ` ${text.cancelled}` : ''}`}
      </p>
      {removal.isRunning ? (
        <>
          <progress aria-label={text.entities} max={found} value={gone ?? 0} />
          <div className="actions">
            <Button onPress={removal.cancel}>{strings.cancel}</Button>
          </div>
        </>
      ) : (
        gone === undefined &&
        found > 0 &&
        counted !== undefined && (
          <>
            <p>{text.sample}</p>
            <ul>
              {counted.data.sample.map(({ id, name }) => (
                <li key={id}>
                  <Who id={id} name={name} />
                </li>
              ))}
            </ul>
            {(counted.warnings ?? []).map((warning) => (
              <p key={warning} className="note">
                {warning}
              </p>
            ))}
            <div className="actions">
              <Confirm
                label={text.remove}
                question={text.removeQuestion(found)}
                action={text.remove}
                onConfirmed={async () => void removal.run(remove)}
              >
                <p>{text.removeHint}</p>
              </Confirm>
            </div>
          </>
        )
      )}
    </section>
  )
}
