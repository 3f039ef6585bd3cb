import {
  bool,
  bytes,
  double,
  int,
  type Kind,
  listOf,
  mapOf,
  message,
  string,
  timestamp,
  uint,
} from './kinds.ts'
import { CelError, CelMap, isList, Message, Timestamp, Uint, type Value } from './values.ts'

type Fields = ReadonlyMap<string, Kind>

const strings = listOf(string)
const pairs = mapOf(string, string)
const alias = message('logical.Alias')
const leaseOptions = message('pb.LeaseOptions')

/** The messages that a program can make, and their fields. docs/contract/cel.md#what-the-login-gives */
export const messages: ReadonlyMap<string, Fields> = new Map<string, Fields>([
  [
    'pb.Auth',
    new Map<string, Kind>([
      ['policies', strings],
      ['no_default_policy', bool],
      ['alias', alias],
      ['group_aliases', listOf(alias)],
      ['metadata', pairs],
      ['display_name', string],
      ['lease_options', leaseOptions],
      ['period', int],
      ['explicit_max_ttl', int],
      ['num_uses', int],
      ['token_type', uint],
      ['bound_cidrs', strings],
      ['entity_id', string],
      ['token_policies', strings],
      ['identity_policies', strings],
      ['client_token', string],
      ['accessor', string],
      ['internal_data', string],
    ]),
  ],
  [
    'pb.LeaseOptions',
    new Map<string, Kind>([
      ['TTL', int],
      ['MaxTTL', int],
      ['renewable', bool],
      ['increment', int],
      ['issue_time', timestamp],
    ]),
  ],
  [
    'logical.Alias',
    new Map<string, Kind>([
      ['name', string],
      ['metadata', pairs],
      ['mount_type', string],
      ['mount_accessor', string],
      ['ID', string],
      ['namespace_id', string],
      ['local', bool],
      ['custom_metadata', pairs],
    ]),
  ],
])

/** The value of a field that was not set. */
export function unset(kind: Kind): Value {
  switch (kind.base) {
    case 'list':
      return []
    case 'map':
      return new CelMap()
    case 'timestamp':
      return new Timestamp(0n)
    default:
      return scalars.get(kind) ?? new Message(kind.base, new Map())
  }
}

const scalars: ReadonlyMap<Kind, Value> = new Map<Kind, Value>([
  [bool, false],
  [int, 0n],
  [uint, new Uint(0n)],
  [double, 0],
  [string, ''],
  [bytes, new Uint8Array()],
])

/** Makes a message. Throws a `CelError` for a value of the wrong type. */
export function made(name: string, values: ReadonlyMap<string, Value>): Message {
  const fields = messages.get(name)
  if (fields === undefined) throw new CelError(`unknown type: ${name}`)
  const set = [...values].filter(([field, value]) => {
    const kind = fields.get(field)
    if (kind === undefined) throw new CelError(`no such field '${field}'`)
    // a message or time may be null, which is the same as absent
    if (value === null && (messages.has(kind.base) || kind.base === 'timestamp')) return false
    if (!isOf(kind, value)) throw new CelError(`field type conversion error for ${name}.${field}`)
    return true
  })
  return new Message(name, new Map(set))
}

/** Whether a value is of a kind, with all that it contains. */
function isOf(kind: Kind, value: Value): boolean {
  if (!kind.is(value)) return false
  const [first, second] = kind.inner
  if (first !== undefined && isList(value)) return value.every((item) => isOf(first, item))
  if (first === undefined || second === undefined || !(value instanceof CelMap)) return true
  return value.entries().every(([key, item]) => isOf(first, key) && isOf(second, item))
}
