import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { timeNanoseconds } from '../../../../src/lib/text/time.ts'
import { check } from '../../../../src/plugins/jwt-auth/cel/language/check.ts'
import { areEqual } from '../../../../src/plugins/jwt-auth/cel/language/compare.ts'
import { evaluate, Scope } from '../../../../src/plugins/jwt-auth/cel/language/evaluate.ts'
import { dyn } from '../../../../src/plugins/jwt-auth/cel/language/kinds.ts'
import { parse } from '../../../../src/plugins/jwt-auth/cel/language/parser.ts'
import { SourceError } from '../../../../src/plugins/jwt-auth/cel/language/source-error.ts'
import {
  CelError,
  CelMap,
  Duration,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from '../../../../src/plugins/jwt-auth/cel/language/values.ts'
import { Work } from '../../../../src/plugins/jwt-auth/cel/language/work.ts'

/** A value as CEL's conformance files write it. */
type Written = {
  readonly boolValue?: boolean
  readonly int64Value?: string
  readonly uint64Value?: string
  readonly doubleValue?: number | string
  readonly stringValue?: string
  readonly bytesValue?: string
  readonly typeValue?: string
  readonly nullValue?: null
  readonly listValue?: { readonly values?: readonly Written[] }
  readonly mapValue?: { readonly entries?: readonly { readonly key: Written; readonly value: Written }[] }
  readonly objectValue?: { readonly '@type': string; readonly value: string }
}
type Case = {
  readonly at: string
  readonly expr: string
  /** True if absent. */
  readonly value?: Written
  readonly error?: true
  readonly bindings?: Readonly<Record<string, Written>>
  /** The case is about evaluation alone. */
  readonly unchecked?: true
}

/**
 * The cases of https://github.com/google/cel-spec (0.25.1, Apache License 2.0) that are about what
 * docs/contract/cel.md#functions lists, without those that need protobuf messages.
 */
const cases = readFileSync(new URL('conformance.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): Case => JSON.parse(line))

function read(written: Written): Value {
  const { int64Value, uint64Value, doubleValue, bytesValue, typeValue, objectValue } = written
  if (int64Value !== undefined) return BigInt(int64Value)
  if (uint64Value !== undefined) return new Uint(BigInt(uint64Value))
  if (doubleValue !== undefined) return Number(doubleValue)
  if (bytesValue !== undefined) return Buffer.from(bytesValue, 'base64')
  if (typeValue !== undefined) return new TypeValue(typeValue)
  if (written.listValue !== undefined) return (written.listValue.values ?? []).map(read)
  if (written.mapValue !== undefined)
    return new CelMap((written.mapValue.entries ?? []).map(({ key, value }) => [read(key), read(value)]))
  if (objectValue?.['@type'].endsWith('Timestamp') === true)
    return new Timestamp(timeNanoseconds(objectValue.value))
  if (objectValue !== undefined) return readDuration(objectValue.value)
  return written.stringValue ?? written.boolValue ?? null
}

function readDuration(text: string): Duration {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?s$/.exec(text) ?? []
  const nanos = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
  return new Duration(sign === '' ? nanos : -nanos)
}

const noWork = () => new Work(() => 0)

/** The value of a case, or that it has none. */
function outcome({ expr, bindings = {}, unchecked }: Case): Value | 'error' {
  const values = new Map(Object.entries(bindings).map(([name, value]) => [name, read(value)]))
  try {
    const { expression } = parse(expr)
    if (unchecked !== true) check(expression, expr, new Map([...values.keys()].map((name) => [name, dyn])))
    return evaluate(expression, new Scope(values), noWork())
  } catch (error) {
    if (error instanceof CelError || error instanceof SourceError) return 'error'
    throw error
  }
}

function agrees(one: Case): boolean {
  const found = outcome(one)
  if (one.error === true || found === 'error') return one.error === true && found === 'error'
  const expected = one.value === undefined ? true : read(one.value)
  const areBothNaN = Number.isNaN(found) && Number.isNaN(expected)
  return areBothNaN || (typeName(found) === typeName(expected) && areEqual(found, expected, noWork()))
}

test('programs give what the conformance files of CEL say', () => {
  expect(cases.length).toBeGreaterThan(1_500)
  expect(cases.filter((one) => !agrees(one)).map(({ at, expr }) => `${at}: ${expr}`)).toEqual([])
})
