import { useEffect, useState } from 'react'
import { Button } from '../components/button.tsx'
import { Secret } from '../components/secret.tsx'
import { strings } from '../strings.ts'
import type { MadeKeys } from './seal-calls.ts'

const text = strings.seal

/** The keys of a new store. The server shows them once, so the page asks before it forgets them. */
export function NewKeys({ keys, onStored }: { readonly keys: MadeKeys; readonly onStored: () => void }) {
  const [isStored, setStored] = useState(false)
  const file = useFile(keys)
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [])
  const shares = [...(keys.keys ?? []), ...(keys.recovery_keys ?? [])]
  return (
    <section className="seal" aria-labelledby="new-keys">
      <h2 id="new-keys">{text.made}</h2>
      <p className="note">{text.madeHint}</p>
      <ol>
        {shares.map((share, at) => (
          <li key={share}>
            {text.shareNumber(at + 1)} <Secret value={share} label={text.shareNumber(at + 1)} />
          </li>
        ))}
      </ol>
      {keys.root_token !== undefined && (
        <p>
          {text.rootToken} <Secret value={keys.root_token} label={text.rootToken} />
        </p>
      )}
      <a className="button" href={file} download="gatehouse-keys.json">
        {text.download}
      </a>
      <label className="check-field">
        <input type="checkbox" checked={isStored} onChange={({ target }) => setStored(target.checked)} />
        {text.stored}
      </label>
      <Button kind="primary" isDisabled={!isStored} onPress={onStored}>
        {text.goOn}
      </Button>
    </section>
  )
}

/** An address in the memory of this page. */
function useFile(content: object): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([`${JSON.stringify(content, null, 2)}\n`]))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [content])
  return url
}
