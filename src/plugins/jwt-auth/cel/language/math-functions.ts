import { intOf } from './core-functions.ts'
import { type Definition, define } from './functions.ts'
import { bool, double, dyn, int, list, uint } from './kinds.ts'
import { extreme } from './list-functions.ts'
import { CelError, Uint, type Value } from './values.ts'

const rounded = (value: number): number => Math.sign(value) * Math.round(Math.abs(value))

const bitsOf = (value: bigint): bigint => BigInt.asUintN(64, value)

/** How far bits are moved. Beyond 64 nothing is left of them. */
function shift(by: bigint, name: string): bigint {
  if (by < 0n) throw new CelError(`math.${name}() negative offset: ${by}`)
  return by > 64n ? 64n : by
}

const asInt = (bits: bigint): bigint => BigInt.asIntN(64, bits)
const asUint = (bits: bigint): Uint => new Uint(BigInt.asUintN(64, bits))

const ofTwo = (name: string, combine: (one: bigint, other: bigint) => bigint): readonly Definition[] => [
  define(name, [int, int], int, (one, other) => asInt(combine(one, other))),
  define(name, [uint, uint], uint, (one, other) => asUint(combine(one.value, other.value))),
]

const shifted = (name: string, move: (bits: bigint, by: bigint) => bigint): readonly Definition[] => [
  define(`math.${name}`, [int, int], int, (value, by) => asInt(move(bitsOf(value), shift(by, name)))),
  define(`math.${name}`, [uint, int], uint, (value, by) => asUint(move(value.value, shift(by, name)))),
]

const ofDouble = (name: string, change: (value: number) => number): Definition =>
  define(`math.${name}`, [double], double, change)

const isDouble = (name: string, test: (value: number) => boolean): Definition =>
  define(`math.${name}`, [double], bool, test)

/** `greatest` and `least` take any number of arguments, up to this one. */
const mostArguments = 32

const ofMany = (name: string, isGreatest: boolean): readonly Definition[] => [
  define(name, [list], dyn, (values, work) => extreme(values, isGreatest, work)),
  ...Array.from(
    { length: mostArguments },
    (_, at): Definition => ({
      name,
      params: Array.from({ length: at + 1 }, () => dyn),
      result: dyn,
      run: (work, values: readonly Value[]) => extreme(values, isGreatest, work),
    }),
  ),
]

const signOf = (value: bigint): bigint => (value > 0n ? 1n : value < 0n ? -1n : 0n)

/** docs/contract/cel.md#functions */
export const mathFunctions: readonly Definition[] = [
  ...ofMany('math.greatest', true),
  ...ofMany('math.least', false),
  ...ofTwo('math.bitAnd', (one, other) => one & other),
  ...ofTwo('math.bitOr', (one, other) => one | other),
  ...ofTwo('math.bitXor', (one, other) => one ^ other),
  define('math.bitNot', [int], int, (value) => ~value),
  define('math.bitNot', [uint], uint, ({ value }) => asUint(~value)),
  ...shifted('bitShiftLeft', (bits, by) => bits << by),
  ...shifted('bitShiftRight', (bits, by) => bits >> by),
  ofDouble('ceil', Math.ceil),
  ofDouble('floor', Math.floor),
  ofDouble('round', rounded),
  ofDouble('trunc', Math.trunc),
  ofDouble('abs', Math.abs),
  define('math.abs', [int], int, (value) => intOf(value < 0n ? -value : value)),
  define('math.abs', [uint], uint, (value) => value),
  ofDouble('sign', Math.sign),
  define('math.sign', [int], int, signOf),
  define('math.sign', [uint], uint, ({ value }) => new Uint(signOf(value))),
  ofDouble('sqrt', Math.sqrt),
  define('math.sqrt', [int], double, (value) => Math.sqrt(Number(value))),
  define('math.sqrt', [uint], double, ({ value }) => Math.sqrt(Number(value))),
  isDouble('isNaN', Number.isNaN),
  isDouble('isInf', (value) => Math.abs(value) === Number.POSITIVE_INFINITY),
  isDouble('isFinite', Number.isFinite),
]
