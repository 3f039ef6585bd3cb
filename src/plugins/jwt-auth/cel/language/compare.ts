import {
  CelMap,
  Duration,
  isList,
  Message,
  noOverload,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts'
import type { Work } from './work.ts'

type Numeric = bigint | number | Uint

const isNumeric = (value: Value): value is Numeric =>
  typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint

const plainNumber = (value: Numeric): bigint | number => (value instanceof Uint ? value.value : value)

/** Values of different types are not equal, but numbers are compared whatever their types are. */
export function areEqual(one: Value, other: Value, work: Work, depth = 0): boolean {
  work.level(depth)
  // of an int and a double, the comparison of JavaScript is exact
  // biome-ignore lint/suspicious/noDoubleEquals: 1n == 1 is what CEL means
  if (isNumeric(one) && isNumeric(other)) return plainNumber(one) == plainNumber(other)
  if (typeof one === 'string' && typeof other === 'string') {
    work.step(one.length / 256)
    return one === other
  }
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    work.step(one.length / 256)
    return Buffer.compare(one, other) === 0
  }
  if (isList(one) && isList(other))
    return (
      one.length === other.length &&
      one.every((item, at) => areEqual(item, other[at] ?? null, work, depth + 1))
    )
  if (one instanceof CelMap && other instanceof CelMap) {
    work.step(one.size / 16)
    return (
      one.size === other.size &&
      one.entries().every(([key, value]) => {
        const found = other.get(key)
        return found !== undefined && areEqual(value, found, work, depth + 1)
      })
    )
  }
  if (one instanceof Timestamp && other instanceof Timestamp) return one.nanos === other.nanos
  if (one instanceof Duration && other instanceof Duration) return one.nanos === other.nanos
  if (one instanceof TypeValue && other instanceof TypeValue) return one.name === other.name
  if (one instanceof Optional && other instanceof Optional)
    return one.value === undefined || other.value === undefined
      ? one.value === other.value
      : areEqual(one.value, other.value, work, depth + 1)
  if (one instanceof Message && other instanceof Message)
    return (
      one.name === other.name &&
      one.fields.size === other.fields.size &&
      [...one.fields].every(([name, value]) => {
        const found = other.fields.get(name)
        return found !== undefined && areEqual(value, found, work, depth + 1)
      })
    )
  return one === other
}

/** Negative if the first value is less. NaN, which is neither, is undefined. Beside a double, an int is rounded. */
export function compare(one: Value, other: Value, work: Work): number | undefined {
  work.step()
  if (isNumeric(one) && isNumeric(other)) {
    const isRounded = typeof one === 'number' || typeof other === 'number'
    const [left, right] = [plainNumber(one), plainNumber(other)].map((value) =>
      isRounded ? Number(value) : value,
    )
    if (left === undefined || right === undefined) return undefined
    return left < right ? -1 : left > right ? 1 : left === right ? 0 : undefined
  }
  if (typeof one === 'string' && typeof other === 'string') {
    work.step((one.length + other.length) / 256)
    return Buffer.compare(Buffer.from(one), Buffer.from(other))
  }
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other)
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other)
  const isTime =
    (one instanceof Timestamp && other instanceof Timestamp) ||
    (one instanceof Duration && other instanceof Duration)
  if (!isTime) throw noOverload()
  return one.nanos < other.nanos ? -1 : Number(one.nanos > other.nanos)
}

/** Whether a list or map contains the value, or key. */
export const contains = (items: readonly Value[], wanted: Value, work: Work): boolean =>
  items.some((item) => areEqual(item, wanted, work))
