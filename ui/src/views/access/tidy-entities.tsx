import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { tidyEntities } from '../../api/tidy.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'

const text = strings.tidy
const path = 'identity/tidy'

/** So many are deleted by one call; between two of them it can be cancelled. */
const atOnce = 1000

type Counted = Awaited<ReturnType<typeof tidyEntities>>
type Removal = { readonly gone: number; readonly step: 'running' | 'done' | 'cancelled' }

/** Counts the entities that logins have left behind, and deletes them. */
export function TidyEntities() {
  const client = useQueryClient()
  const { can } = useCapabilities([path])
  const [unusedFor, setUnusedFor] = useState('90d')
  const [counted, setCounted] = useState<Counted>()
  const [removal, setRemoval] = useState<Removal>()
  const [error, setError] = useState<unknown>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  if (!can(path, 'update') || !can(path, 'sudo')) return null
  const count = async (event: FormEvent) => {
    event.preventDefault()
    try {
      setRemoval(undefined)
      setCounted(await tidyEntities({ body: { unused_for: unusedFor.trim(), dry_run: true } }))
      setError(undefined)
    } catch (refusal) {
      setCounted(undefined)
      setError(refusal)
    }
  }
  const remove = async () => {
    const ended = new AbortController()
    running.current = ended
    let gone = 0
    try {
      for (let isMore = true; isMore && !ended.signal.aborted; ) {
        setRemoval({ gone, step: 'running' })
        const { data } = await tidyEntities({ body: { unused_for: unusedFor.trim(), limit: atOnce } })
        gone += data.count
        isMore = data.count > 0
      }
      setRemoval({ gone, step: ended.signal.aborted ? 'cancelled' : 'done' })
    } catch (refusal) {
      setRemoval({ gone, step: 'cancelled' })
      setError(refusal)
    }
    await client.invalidateQueries({ queryKey: ['entities'] })
  }
  const found = counted?.data.count ?? 0
  return (
    <section className="panel" aria-labelledby="tidy-entities">
      <h2 id="tidy-entities">{text.entities}</h2>
      <p className="hint">{text.entitiesHint}</p>
      <form className="one-line" onSubmit={(event) => void count(event)}>
        <Field
          label={text.unusedFor}
          hint={text.unusedForHint}
          isRequired
          value={unusedFor}
          onChange={(value) => {
            setUnusedFor(value)
            setCounted(undefined)
          }}
        />
        <Button type="submit">{text.count}</Button>
      </form>
      <Failure error={error} />
      <p role="status">
        {removal === undefined
          ? counted !== undefined && text.counted(found)
          : `${text.removed(removal.gone, found)}${removal.step === 'cancelled' ? ` ${text.cancelled}` : ''}`}
      </p>
      {removal?.step === 'running' ? (
        <>
          <progress aria-label={text.entities} max={found} value={removal.gone} />
          <div className="actions">
            <Button onPress={() => running.current?.abort()}>{strings.cancel}</Button>
          </div>
        </>
      ) : (
        removal === undefined &&
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
                onConfirmed={async () => void remove()}
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
