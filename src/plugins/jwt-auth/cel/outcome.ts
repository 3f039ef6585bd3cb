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
import type { Work } from './language/work.ts'

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

/** `work`: what may be told of the result. */
export function outcomeOf(value: Value, work: Work): Outcome {
  if (value === false) return { kind: 'denied' }
  if (typeof value === 'string') return { kind: 'message', text: value }
  if (value instanceof Optional && value.value instanceof Message) return outcomeOf(value.value, work)
  if (value instanceof Message && value.name === 'pb.Auth')
    return { kind: 'auth', auth: fieldsOf(value, work) }
  return { kind: 'type', type: typesOfResults.get(typeName(value)) ?? '*types.protoObj' }
}

/** Which names of a login are made of numbers that other logins may share; undefined if none is. */
export function sharedName(auth: Fields, work: Work): 'an alias' | 'a policy' | undefined {
  const [alias, groups, policies] = ['alias', 'group_aliases', 'policies'].map((field) =>
    textsIn(auth.get(field)),
  )
  const isShared = (text: string) => work.hasShared(text)
  if ([...(alias ?? []), ...(groups ?? [])].some(isShared)) return 'an alias'
  return policies?.some(isShared) === true ? 'a policy' : undefined
}

/** Of a text, the names of an alias, or a list of either. */
function textsIn(field: Field | undefined): string[] {
  if (typeof field === 'string') return [field]
  if (field instanceof Map) return textsIn(field.get('name'))
  return Array.isArray(field) ? field.flatMap(textsIn) : []
}

const fieldsOf = ({ fields }: Message, work: Work): Fields =>
  new Map([...fields].map(([name, value]) => [name, plain(value, work)]))

/** Only types that fields have. */
function plain(value: Value, work: Work): Field {
  if (typeof value === 'boolean' || typeof value === 'bigint') return value
  if (typeof value === 'string') {
    work.text(value.length)
    return value
  }
  if (value instanceof Uint) return value.value
  if (value instanceof Timestamp) return value.nanos
  if (value instanceof Message) return fieldsOf(value, work)
  if (isList(value)) {
    work.list(value.length)
    return value.map((item) => plain(item, work))
  }
  if (value instanceof CelMap) {
    work.list(value.size)
    return new Map(
      value.entries().map(([key, item]) => [String(plain(key, work)), plain(item, work)] as const),
    )
  }
  throw new Error('a message has a field of an unknown type')
}
