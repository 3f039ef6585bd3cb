/**
 * Where things lie in storage, as seen from its root. Each identity mount has an issuer of its own; it goes
 * away with what the mount holds.
 */
const issuer = (mount: string): string => `mount/${mount}/oidc/`

export const configKey = (mount: string): string => `${issuer(mount)}config`
export const namedKeyKey = (mount: string, name: string): string => `${issuer(mount)}key/${name}`
export const roleKey = (mount: string, name: string): string => `${issuer(mount)}role/${name}`
/** One row for each role, under the name of its key. */
export const roleOfKeyKey = (mount: string, key: string, role: string): string =>
  `${issuer(mount)}key-role/${key}/${role}`

/** A rotation that is due at a time: all namespaces in one row, so that one short scan finds the next. */
export type DueRotation = { readonly at: number; readonly mount: string; readonly name: string }

export const dueRotations = 'core/identity-token-rotation/'
const timeDigits = 16

export const dueKey = ({ at, mount, name }: DueRotation): string =>
  `${dueRotations}${String(at).padStart(timeDigits, '0')}/${mount}/${name}`

/** Undefined for a key that is none. */
export function readDueKey(key: string): DueRotation | undefined {
  const [at = '', mount = '', name = ''] = key.slice(dueRotations.length).split('/')
  return /^\d{16}$/.test(at) && mount !== '' && name !== '' ? { at: Number(at), mount, name } : undefined
}
