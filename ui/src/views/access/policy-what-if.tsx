import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import { tryPolicy } from './calls.ts'

const text = strings.access.whatIf

type Body = NonNullable<Parameters<typeof tryPolicy>[0]['body']>
type Tried = Awaited<ReturnType<typeof tryPolicy>>

/** Shows how a write of the policy would affect recent requests. It stores nothing. */
export function PolicyWhatIf({ name, body }: { readonly name: string; readonly body: Body }) {
  const [outcome, setOutcome] = useState<{ readonly tried?: Tried; readonly error?: unknown }>({})
  const ask = async () => {
    try {
      setOutcome({ tried: await tryPolicy({ params: { name }, body }) })
    } catch (error) {
      setOutcome({ error })
    }
  }
  return (
    <div className="stack">
      <div className="actions">
        <Button onPress={() => void ask()}>{text.ask}</Button>
      </div>
      <Failure error={outcome.error} />
      <div role="status">{outcome.tried !== undefined && <Report tried={outcome.tried} />}</div>
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
