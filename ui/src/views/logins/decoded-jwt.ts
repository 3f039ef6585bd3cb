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
