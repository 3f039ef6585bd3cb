/** What a request does to a path. docs/contract/tokens-and-policies.md#capabilities */
export type AclOperation = 'create' | 'read' | 'update' | 'patch' | 'delete' | 'list' | 'scan' | 'help'

/** One bit for each capability. */
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

export const allCapabilities = Object.values(capabilityBits).reduce((bits, bit) => bits | bit, 0)

const { create, read, update, delete: remove, list, sudo, patch, scan } = capabilityBits

/**
 * The capability words of a policy. `deny` is not a bit. Words that only newer servers implement are accepted
 * and grant nothing. docs/contract/tokens-and-policies.md#capabilities
 */
export const capabilityWords: ReadonlyMap<string, number | 'deny'> = new Map<string, number | 'deny'>([
  ...Object.entries(capabilityBits),
  ['deny', 'deny'],
  ['subscribe', 0],
  ['recover', 0],
])

const write = create | read | update | remove | list

/** The deprecated one-word form, `policy = "write"`. */
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

/** Sorted; `["deny"]` if empty. docs/contract/tokens-and-policies.md#asking-for-capabilities */
export const capabilityNames = (bits: number): string[] => named(bits, sorted)

/** In the order `resultant-acl` uses. docs/contract/tokens-and-policies.md#asking-for-capabilities */
export const resultantNames = (bits: number): string[] => named(bits, resultantOrder)

/** The capability bit that an operation requires. */
export const requiredBit: Readonly<Record<Exclude<AclOperation, 'help'>, number>> = {
  create,
  read,
  update,
  patch,
  delete: remove,
  list,
  scan,
}
