import {
  CelMap,
  isList,
  Message,
  Optional,
  Timestamp,
  typeName,
  Uint,
  type Value,
} from './language/values.ts'

/** A field of a message as plain data: pairs for a map. */
export type Field = string | boolean | bigint | readonly Field[] | Fields
export type Fields = ReadonlyMap<string, Field>

/** What the result of a program means. docs/contract/cel.md#what-the-result-means */
export type Outcome =
  | { readonly kind: 'auth'; readonly auth: Fields }
  | { readonly kind: 'denied' }
  | { readonly kind: 'message'; readonly text: string }
  /** Neither of these. */
  | { readonly kind: 'type'; readonly type: string }
  /** `variable` is the one that failed; "" for the expression. */
  | { readonly kind: 'error'; readonly variable: string; readonly text: string }
  | { readonly kind: 'limit'; readonly text: string }

/** As clients know them. */
const typesOfResults: ReadonlyMap<string, string> = new Map([
  ['bool', 'types.Bool'],
  ['int', 'types.Int'],
  ['uint', 'types.Uint'],
  ['double', 'types.Double'],
  ['null_type', 'types.Null'],
  ['bytes', 'types.Bytes'],
  ['list', '*types.baseList'],
  ['map', '*types.baseMap'],
  ['type', '*types.Type'],
  ['optional_type', '*types.Optional'],
  ['google.protobuf.Timestamp', 'types.Timestamp'],
  ['google.protobuf.Duration', 'types.Duration'],
])

export function outcomeOf(value: Value): Outcome {
  if (value === false) return { kind: 'denied' }
  if (typeof value === 'string') return { kind: 'message', text: value }
  if (value instanceof Optional && value.value instanceof Message) return outcomeOf(value.value)
  if (value instanceof Message && value.name === 'pb.Auth') return { kind: 'auth', auth: fieldsOf(value) }
  return { kind: 'type', type: typesOfResults.get(typeName(value)) ?? '*types.protoObj' }
}

const fieldsOf = ({ fields }: Message): Fields =>
  new Map([...fields].map(([name, value]) => [name, plain(value)]))

/** Only types that fields have. */
function plain(value: Value): Field {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint') return value
  if (value instanceof Uint) return value.value
  if (value instanceof Timestamp) return value.nanos
  if (value instanceof Message) return fieldsOf(value)
  if (isList(value)) return value.map(plain)
  if (value instanceof CelMap)
    return new Map(value.entries().map(([key, item]) => [String(key), plain(item)]))
  throw new Error('a message has a field of an unknown type')
}
