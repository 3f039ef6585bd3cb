/** Name of a token made by another token. docs/contract/tokens-and-policies.md#creating-a-token */
export function createdTokenName(given: string): string {
  return given === '' ? 'token' : `token-${given}`.replace(/[^A-Za-z0-9-]/gu, '-').replace(/-$/, '')
}

/** Name of a login's token: the mount's full path and the name the method gives, `auth/` only with a namespace before it. docs/contract/tokens-and-policies.md#creating-a-token, docs/contract/namespaces.md#isolation */
export function loginTokenName(mountPath: string, name: string): string {
  return `${mountPath.replace(/^auth\//, '').replaceAll('/', '-')}${name}`.replace(/-$/, '')
}
