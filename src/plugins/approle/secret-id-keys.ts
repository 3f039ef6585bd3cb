/*
 * The keys of the records of secret ids, in the view of their mount. `role` is the UUID of a role, `hash` the
 * hash of a secret id, and `accessor` the hash of an accessor.
 */

/** A secret id: its `SecretId`. */
export const secretIdKey = (role: string, hash: string): string => `${secretIdsOf(role)}${hash}`
export const secretIdsOf = (role: string): string => `secret-id/${role}/`

/** Which secret id an accessor belongs to, of which role. */
export const accessorKey = (accessor: string): string => `accessor/${accessor}`

/** The accessors of a role, in the order of their hashes, for its list. */
export const listedKey = (role: string, accessor: string): string => `${listedOf(role)}${accessor}`
export const listedOf = (role: string): string => `listed/${role}/`

/** The secret ids that end, in the order of their ends. */
export const endKey = (ends: number, role: string, hash: string): string =>
  `${endPrefix}${paddedTime(ends)}/${role}/${hash}`
export const endPrefix = 'end/'
/** Sorts after the ends up to this time, and before all later ones. */
export const endsAfter = (time: number): string => `${endPrefix}${paddedTime(time)}/~`

/** What a key of `endKey` says. */
export function endOf(key: string): { readonly ends: number; readonly role: string; readonly hash: string } {
  const [ends = '', role = '', hash = ''] = key.slice(endPrefix.length).split('/')
  return { ends: Number(ends), role, hash }
}

/** Greatest time that fits in a key. */
const lastTime = 10 ** 15 - 1
const paddedTime = (time: number): string =>
  String(Math.min(lastTime, Math.max(0, Math.trunc(time)))).padStart(15, '0')

/** A deleted role, whose secret ids are void and not yet deleted. */
export const voidKey = (role: string): string => `${voidPrefix}${role}`
export const voidPrefix = 'void/'
