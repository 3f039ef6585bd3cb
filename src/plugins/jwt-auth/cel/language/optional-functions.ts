import { type Definition, define, method } from './functions.ts'
import { bool, dyn, optional } from './kinds.ts'
import { CelError, CelMap, isList, Message, Optional, type Value } from './values.ts'

/** Whether a value is what a field has that was never set. */
function isZero(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0 || value === 0n) return true
  if (value instanceof Uint8Array || isList(value)) return value.length === 0
  if (value instanceof CelMap) return value.size === 0
  if (value instanceof Message) return value.fields.size === 0
  if (value instanceof Optional) return value.value === undefined
  if (typeof value === 'object' && 'nanos' in value) return value.nanos === 0n
  return typeof value === 'object' && 'value' in value && value.value === 0n
}

function valueIn({ value }: Optional): Value {
  if (value === undefined) throw new CelError('optional.none() dereference')
  return value
}

/** docs/contract/cel.md#functions */
export const optionalFunctions: readonly Definition[] = [
  define('optional.none', [], optional, () => new Optional()),
  define('optional.of', [dyn], optional, (value) => new Optional(value)),
  define('optional.ofNonZeroValue', [dyn], optional, (value) =>
    isZero(value) ? new Optional() : new Optional(value),
  ),
  method('or', [optional, optional], optional, (one, other) => (one.value === undefined ? other : one)),
  method('orValue', [optional, dyn], dyn, ({ value }, other) => (value === undefined ? other : value)),
  method('hasValue', [optional], bool, ({ value }) => value !== undefined),
  method('value', [optional], dyn, valueIn),
]
