import { visible } from '../../components/visible.ts'
import { strings } from '../../strings.ts'

const text = strings.logins

/** The parts that anybody can read, as the browser decodes them. */
export function DecodedJwt({ jwt }: { readonly jwt: string }) {
  if (jwt.trim() === '') return null
  const parts = decoded(jwt)
  if (parts === undefined) return <p className="hint">{text.notJwt}</p>
  return (
    <details open className="decoded">
      <summary>{text.decoded}</summary>
      <pre>
        <code>{visible(JSON.stringify(parts.header, null, 2))}</code>
      </pre>
      <pre>
        <code>{visible(JSON.stringify(parts.claims, null, 2))}</code>
      </pre>
    </details>
  )
}

/** Header and claims of a JWT, or undefined if it is none. The signature is not looked at. */
export function decoded(jwt: string): { readonly header: unknown; readonly claims: unknown } | undefined {
  const parts = jwt.trim().split('.')
  if (parts.length !== 3) return undefined
  try {
    const [header, claims] = parts.slice(0, 2).map(partOf)
    return { header, claims }
  } catch {
    return undefined
  }
}

function partOf(text: string): unknown {
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
}
