/** Name of a token made by another token. Contract tokens §1.8. */
export function createdTokenName(given: string): string {
  return given === '' ? 'token' : `token-${given}`.replace(/[^A-Za-z0-9-]/gu, '-').replace(/-$/, '')
}

/** Name of a login's token: the mount's full path and the name the method gives, `auth/` only with a namespace before it. Contract tokens §1.8, core-http §5.3. */
export function loginTokenName(mountPath: string, name: string): string {
  return `${mountPath.replace(/^auth\//, '').replaceAll('/', '-')}${name}`.replace(/-$/, '')
}
