import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { useWork } from '../../components/use-work.ts'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import { tryPolicy } from './calls.ts'

const text = strings.access.whatIf

type Body = NonNullable<Parameters<typeof tryPolicy>[0]['body']>
type Tried = Awaited<ReturnType<typeof tryPolicy>>

/** Shows how a write of the policy would affect recent requests. It stores nothing. */
export function PolicyWhatIf({ name, body }: { readonly name: string; readonly body: Body }) {
  const [tried, setTried] = useState<Tried>()
  const { run, cancel, isRunning, error } = useWork()
  const ask = async (signal: AbortSignal) => {
    setTried(undefined)
    setTried(await tryPolicy({ params: { name }, body }, { signal }))
  }
  return (
    <div className="stack">
      <div className="actions">
        <Button onPress={() => (isRunning ? cancel() : void run(ask))}>
          {isRunning ? strings.cancel : text.ask}
        </Button>
      </div>
      <Failure error={error} />
      <div role="status">{tried !== undefined && <Report tried={tried} />}</div>
    </div>
  )
}

const Report = ({ tried: { data, warnings } }: { readonly tried: Tried }) => (
  <div className="stack">
    <p>{text.result(data.uses, data.lose, data.gain, data.days)}</p>
    {(warnings ?? []).map((warning) => (
      <p key={warning} className="note">
        {warning}
      </p>
    ))}
    {data.changes.length > 0 && (
      <ul>
        {data.changes.map(({ entity_id: id, path, operation, after }) => (
          <li key={`${id} ${operation} ${path}`}>
            {id === '' ? text.noEntity : <Who id={id} />}: {operation} <code>{path}</code> {text.after[after]}
          </li>
        ))}
      </ul>
    )}
  </div>
)
