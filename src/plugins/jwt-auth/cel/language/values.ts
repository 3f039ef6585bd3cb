/** The first number that is too large for an int. */
export const endOfInt = 2n ** 63n

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

export const nanosOfSecond = 1_000_000_000n

class Nanoseconds {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A time since the epoch. */
export class Timestamp extends Nanoseconds {}

/** A span of time. */
export class Duration extends Nanoseconds {}

/** A type as a value: `type(1) == int`. */
export class TypeValue {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** A value that may be missing: `claims.?name`. */
export class Optional {
  readonly value: Value | undefined

  constructor(value?: Value) {
    this.value = value
  }
}

/** A message such as `pb.Auth{}`. Fields that were not set are absent. */
export class Message {
  readonly name: string
  readonly fields: ReadonlyMap<string, Value>

  constructor(name: string, fields: ReadonlyMap<string, Value>) {
    this.name = name
    this.fields = fields
  }
}

/** A map. Numbers that are equal are one key, whatever their type. */
export class CelMap {
  readonly #entries = new Map<string, readonly [Value, Value]>()

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of entries) {
      const text = keyText(key)
      if (text === undefined || typeof key === 'number') throw new CelError('unsupported key type')
      if (this.#entries.has(text)) throw new CelError('Failed with repeated key')
      this.#entries.set(text, [key, value])
    }
  }

  get size(): number {
    return this.#entries.size
  }

  /** Undefined for a key that is absent, or of a type that no key has. */
  get(key: Value): Value | undefined {
    const text = keyText(key)
    return text === undefined ? undefined : this.#entries.get(text)?.[1]
  }

  keys(): Value[] {
    return [...this.#entries.values()].map(([key]) => key)
  }

  entries(): (readonly [Value, Value])[] {
    return [...this.#entries.values()]
  }
}

export type Value =
  | null
  | boolean
  | string
  /** int */
  | bigint
  /** double */
  | number
  | Uint
  | Uint8Array
  | readonly Value[]
  | CelMap
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | Message

/** An error of a program at run time. `||`, `&&` and the like absorb it. */
export class CelError extends Error {
  override readonly name = 'CelError'
}

/** A program went beyond its limits. Nothing absorbs it. docs/limits.md#cel-programs */
export class LimitError extends Error {
  override readonly name = 'LimitError'
}

export const noOverload = () => new CelError('no such overload')

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value)

function keyText(key: Value): string | undefined {
  if (typeof key === 'string') return `s${key}`
  if (typeof key === 'boolean') return `b${key}`
  if (typeof key === 'bigint') return `n${key}`
  if (key instanceof Uint) return `n${key.value}`
  if (typeof key === 'number') return Number.isInteger(key) ? `n${BigInt(key)}` : `d${key}`
  return undefined
}

/** A key or an index, for an error text. */
export function shortText(value: Value): string {
  if (typeof value === 'string') return value.slice(0, 64)
  if (value instanceof Uint) return String(value.value)
  return typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : typeName(value)
}

/** The name of a value's type, as `type()` shows it. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
  }
  if (value === null) return 'null_type'
  if (isList(value)) return 'list'
  if (value instanceof CelMap) return 'map'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof Duration) return 'google.protobuf.Duration'
  if (value instanceof TypeValue) return 'type'
  return value instanceof Optional ? 'optional_type' : value.name
}
