import { corePrefix } from '../barrier/view.ts'

/**
 * Storage keys, relative to the root. An issuer's data is stored below its identity mount and deleted with
 * it.
 */
const issuer = (mount: string): string => `${mountsPrefix}${mount}/oidc/`
export const mountsPrefix = 'mount/'

/** Whether a storage key belongs to an issuer. */
export const isOfIssuer = (key: string): boolean => key.split('/', 3)[2] === 'oidc'
/** The mount of a key below `mountsPrefix`. */
export const mountOfKey = (key: string): string => key.split('/', 2)[1] ?? ''

export const configKey = (mount: string): string => `${issuer(mount)}config`
export const namedKeyKey = (mount: string, name: string): string => `${issuer(mount)}key/${name}`
export const roleKey = (mount: string, name: string): string => `${issuer(mount)}role/${name}`
/** An index of roles by key: one record for each role. */
export const roleOfKeyKey = (mount: string, key: string, role: string): string =>
  `${issuer(mount)}key-role/${key}/${role}`

/** A scheduled rotation. Those of all namespaces are in one key range, in order of time. */
export type DueRotation = { readonly at: number; readonly mount: string; readonly name: string }

export const dueRotations = `${corePrefix}identity-token-rotation/`
const timeDigits = 16

export const dueKey = ({ at, mount, name }: DueRotation): string =>
  `${dueRotations}${String(at).padStart(timeDigits, '0')}/${mount}/${name}`

/** Undefined if the key is malformed. */
export function readDueKey(key: string): DueRotation | undefined {
  const [at = '', mount = '', name = ''] = key.slice(dueRotations.length).split('/')
  return /^\d{16}$/.test(at) && mount !== '' && name !== '' ? { at: Number(at), mount, name } : undefined
}
