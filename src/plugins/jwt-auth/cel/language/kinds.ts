import {
  CelMap,
  Duration,
  isList,
  Message,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts'

/** A type, as far as it is known before a program runs. */
export type Kind<Of extends Value = Value> = {
  readonly base: string
  /** Types of what is inside it: never of more than one level, so that they do not grow with the program. */
  readonly inner: readonly Kind[]
  /** Looks at the value itself, not at what it contains. */
  is(value: Value): value is Of
}

function plain<Of extends Value>(base: string, is: (value: Value) => value is Of): Kind<Of> {
  return { base, inner: [], is }
}

const instanceOf =
  <Of extends Value>(type: abstract new (...args: never[]) => Of) =>
  (value: Value): value is Of =>
    value instanceof type

export const dyn: Kind = plain('dyn', (value: Value): value is Value => value !== undefined)
export const nothing: Kind<null> = plain('null', (value): value is null => value === null)
export const bool: Kind<boolean> = plain('bool', (value) => typeof value === 'boolean')
export const int: Kind<bigint> = plain('int', (value) => typeof value === 'bigint')
export const uint: Kind<Uint> = plain('uint', instanceOf(Uint))
export const double: Kind<number> = plain('double', (value) => typeof value === 'number')
export const string: Kind<string> = plain('string', (value) => typeof value === 'string')
export const bytes: Kind<Uint8Array> = plain('bytes', instanceOf(Uint8Array))
export const timestamp: Kind<Timestamp> = plain('timestamp', instanceOf(Timestamp))
export const duration: Kind<Duration> = plain('duration', instanceOf(Duration))
export const type: Kind<TypeValue> = plain('type', instanceOf(TypeValue))

const outermost = (kind: Kind): Kind => (kind.inner.length === 0 ? kind : dyn)

export const listOf = (element: Kind): Kind<readonly Value[]> => ({
  base: 'list',
  inner: [outermost(element)],
  is: (value): value is readonly Value[] => isList(value),
})
export const mapOf = (key: Kind, value: Kind): Kind<CelMap> => ({
  base: 'map',
  inner: [outermost(key), outermost(value)],
  is: instanceOf(CelMap),
})
export const optionalOf = (value: Kind): Kind<Optional> => ({
  base: 'optional_type',
  inner: [outermost(value)],
  is: instanceOf(Optional),
})
export const list = listOf(dyn)
export const map = mapOf(dyn, dyn)
export const optional = optionalOf(dyn)
export const message = (name: string): Kind<Message> =>
  plain(name, (value): value is Message => value instanceof Message && value.name === name)

/** Types that a program can name, and their values. */
export const typeNames: ReadonlyMap<string, TypeValue> = new Map(
  [
    'bool',
    'int',
    'uint',
    'double',
    'string',
    'bytes',
    'list',
    'map',
    'null_type',
    'type',
    'optional_type',
    'google.protobuf.Timestamp',
    'google.protobuf.Duration',
  ].map((name) => [name, new TypeValue(name)]),
)

/** As error texts of CEL name it: `list(string)`. */
export const shownKind = ({ base, inner }: Kind): string =>
  inner.length === 0 ? base : `${base}(${inner.map(shownKind).join(', ')})`

/** Whether a value of one kind may be of the other. `dyn` may be anything. */
export const mayBe = (one: Kind, other: Kind): boolean =>
  one.base === 'dyn' ||
  other.base === 'dyn' ||
  (one.base === other.base && one.inner.every((kind, at) => mayBe(kind, other.inner[at] ?? dyn)))

/** The kind of values of both kinds. */
export const joined = (one: Kind, other: Kind): Kind => (shownKind(one) === shownKind(other) ? one : dyn)
