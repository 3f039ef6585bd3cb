/** What a request does to a path. docs/contract/tokens-and-policies.md#capabilities */
export type AclOperation = 'create' | 'read' | 'update' | 'patch' | 'delete' | 'list' | 'scan' | 'help'

/** One bit a capability. */
export const capabilityBits = {
  create: 1,
  read: 2,
  update: 4,
  delete: 8,
  list: 16,
  sudo: 32,
  patch: 64,
  scan: 128,
} as const

export type Capability = keyof typeof capabilityBits

const { create, read, update, delete: remove, list, sudo, patch, scan } = capabilityBits

/**
 * The capability word in a policy; `deny` is no bit. Words of newer servers are known, but permit nothing
 * here (docs/contract/tokens-and-policies.md#capabilities).
 */
export const capabilityWords: ReadonlyMap<string, number | 'deny'> = new Map<string, number | 'deny'>([
  ...Object.entries(capabilityBits),
  ['deny', 'deny'],
  ['subscribe', 0],
  ['recover', 0],
])

const write = create | read | update | remove | list

/** The old one-word form, `policy = "write"`. */
export const shorthandWords: ReadonlyMap<string, number | 'deny'> = new Map<string, number | 'deny'>([
  ['deny', 'deny'],
  ['read', read | list],
  ['write', write],
  ['sudo', write | sudo],
])

const sorted: readonly Capability[] = ['create', 'delete', 'list', 'patch', 'read', 'scan', 'sudo', 'update']
const resultantOrder: readonly Capability[] = [
  'create',
  'delete',
  'list',
  'read',
  'sudo',
  'update',
  'patch',
  'scan',
]

const named = (bits: number, order: readonly Capability[]): string[] =>
  bits === 0 ? ['deny'] : order.filter((capability) => (bits & capabilityBits[capability]) !== 0)

/** Alphabetical, `["deny"]` for none. docs/contract/tokens-and-policies.md#asking-for-capabilities */
export const capabilityNames = (bits: number): string[] => named(bits, sorted)

/** In the order of `resultant-acl`. docs/contract/tokens-and-policies.md#asking-for-capabilities */
export const resultantNames = (bits: number): string[] => named(bits, resultantOrder)

/** The bit an operation needs. */
export const neededBit: Readonly<Record<Exclude<AclOperation, 'help'>, number>> = {
  create,
  read,
  update,
  patch,
  delete: remove,
  list,
  scan,
}
