import { useId, useState } from 'react'
import { Button } from '../components/button.tsx'
import { Failure } from '../components/failure.tsx'
import { strings } from '../strings.ts'
import { useCapabilities } from './capabilities.ts'

const text = strings.tidy

type Props = {
  readonly path: string
  readonly hint: string
  readonly run: () => Promise<{ readonly warnings: readonly string[] | null }>
}

/** Starts work of the server that removes leftovers. Absent if the token may not. */
export function Tidy({ path, hint, run }: Props) {
  const id = useId()
  const { can } = useCapabilities([path])
  const [said, setSaid] = useState<readonly string[]>([])
  const [error, setError] = useState<unknown>()
  if (!can(path, 'update')) return null
  const start = async () => {
    try {
      setSaid((await run()).warnings ?? [])
      setError(undefined)
    } catch (refusal) {
      setError(refusal)
    }
  }
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{text.title}</h2>
      <p className="hint">
        {hint} {text.inBackground}
      </p>
      <div className="actions">
        <Button onPress={() => void start()}>{text.title}</Button>
      </div>
      <p role="status">{said.join(' ')}</p>
      <Failure error={error} />
    </section>
  )
}
