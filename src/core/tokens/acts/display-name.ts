/**
 * Display name of a token created with another token. docs/contract/tokens-and-policies.md#creating-a-token
 */
export function createdTokenName(given: string): string {
  return given === '' ? 'token' : `token-${given}`.replace(/[^A-Za-z0-9-]/gu, '-').replace(/-$/, '')
}

/**
 * Display name of a login token: the mount's full path and the name that the auth method chose. A leading
 * `auth/` is dropped, so it remains only after a namespace.
 * docs/contract/tokens-and-policies.md#creating-a-token, docs/contract/namespaces.md#isolation
 */
export function loginTokenName(mountPath: string, name: string): string {
  return `${mountPath.replace(/^auth\//, '').replaceAll('/', '-')}${name}`.replace(/-$/, '')
}
