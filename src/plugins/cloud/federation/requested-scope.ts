import { refuse } from '../../../errors.ts'

const longest = 512
const oneResource = /^[\u0021-\u007e]+\/\.default$/

/** Throws the first refusal. docs/contract/cloud.md#access-tokens */
export function requestedScope(sent: string | undefined, allowed: readonly string[] = []): string {
  if (sent === undefined || sent === '') throw refuse('invalid', "missing required field 'scope'")
  if (sent.length > longest || !oneResource.test(sent))
    throw refuse('invalid', 'scope must be one resource followed by /.default')
  if (allowed.length > 0 && !allowed.includes(sent)) throw refuse('denied', 'permission denied')
  return sent
}

const mostScopes = 100

/** The scopes that a role allows. Throws if they are too many or too long. Pure. */
export function checkedScopes(sent: readonly string[]): string[] {
  const scopes = [...new Set(sent.filter((scope) => scope !== ''))]
  if (scopes.length > mostScopes || scopes.some((scope) => scope.length > longest))
    throw refuse('invalid', `allowed_scopes: at most ${mostScopes} scopes of at most ${longest} characters`)
  return scopes
}
