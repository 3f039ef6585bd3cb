import { expect, test } from 'vitest'
import { shared } from '../../../support/shared.ts'
import { openDesk, verdict } from './desk.ts'

const sharedDesk = shared(() => openDesk())
const decode = "400 failed to decode 'cel_program': "
const main = '400 invalid CEL syntax for main expression: ERROR: <input>:'
const typed = '400 error type-checking CEL MainProgram: ERROR: <input>:'
const inVariable =
  "400 failed to validate variables: variable[0].a: failed to validate: invalid CEL syntax for variable 'a': ERROR: <input>:"

test.each([
  { given: undefined, begins: "400 missing required field 'cel_program'" },
  { given: {}, begins: '400 cel_program.expression cannot be empty' },
  { given: { expression: '' }, begins: '400 cel_program.expression cannot be empty' },
  { given: { expression: 'true', variables: { a: 1 } }, begins: decode },
  { given: { expression: 'true', variables: ['a'] }, begins: decode },
  { given: { expression: ['true'] }, begins: decode },
  { given: 'true', begins: '400 Field validation failed: error converting input for field "cel_program": ' },
  {
    given: '{"expression":',
    begins: '400 Field validation failed: error converting input for field "cel_program": ',
  },
  { given: { expression: '1 +' }, begins: `${main}1:4: ` },
  { given: { expression: 'true\n  && ) ' }, begins: `${main}2:6: ` },
  { given: { expression: '"é" $' }, begins: `${main}1:5: ` },
  { given: { expression: 'has(1)' }, begins: `${main}1:4: invalid argument to has() macro` },
  { given: { expression: 'true', variables: [{ name: 'a', expression: '1 +' }] }, begins: inVariable },
  { given: { expression: 'true', variables: [{ name: 'a', expression: '' }] }, begins: inVariable },
  { given: { expression: 'nope' }, begins: `${typed}1:1: undeclared reference to 'nope' (in container '')` },
  { given: { expression: 'nope.x' }, begins: `${typed}1:1: undeclared reference to 'nope'` },
  { given: { expression: 'nope(1)' }, begins: `${typed}1:5: undeclared reference to 'nope'` },
  { given: { expression: '"a".nope()' }, begins: `${typed}1:9: undeclared reference to 'nope'` },
  { given: { expression: 'pb.Nope{}' }, begins: `${typed}1:8: undeclared reference to 'pb.Nope'` },
  { given: { expression: 'pb.Auth{nope: 1}' }, begins: `${typed}1:13: undefined field 'nope'` },
  {
    given: { expression: 'pb.Auth{policies: "a"}' },
    begins: `${typed}1:17: expected type of field 'policies' is 'list(string)' but provided type is 'string'`,
  },
  {
    given: { expression: '1 + "a"' },
    begins: `${typed}1:3: found no matching overload for '_+_' applied to '(int, string)'`,
  },
  {
    given: { expression: '1 == 1.0' },
    begins: `${typed}1:3: found no matching overload for '_==_' applied to '(int, double)'`,
  },
  {
    given: { expression: '"a".charAt("b")' },
    begins: `${typed}1:11: found no matching overload for 'charAt' applied to 'string.(string)'`,
  },
  {
    given: { expression: '1 ? true : false' },
    begins: `${typed}1:3: found no matching overload for '_?_:_'`,
  },
  ...['claims', 'now', 'operation'].map((name) => ({
    given: { expression: 'true', variables: [{ name, expression: '1' }] },
    begins: `400 error type-checking CEL MainProgram: overlapping identifier for name '${name}'`,
  })),
  ...['', 'a b', '1a', 'a.', 'a-b'].map((name) => ({
    given: { expression: 'true', variables: [{ name, expression: '1' }] },
    begins: `400 variable[0]: invalid name "${name}"`,
  })),
])('a write of $given is refused', async ({ given, begins }) => {
  const { root } = await sharedDesk()

  expect(verdict(await root.write('auth/jwt/cel/role/refused', { cel_program: given }))).toContain(begins)
  expect((await root.read('auth/jwt/cel/role/refused')).status).toBe(404)
})

const two = [
  { name: 'a', expression: '1' },
  { name: 'a', expression: '2' },
]
test.each([
  { given: { expression: 5 }, kept: { expression: '5' } },
  { given: { Expression: 'true' }, kept: { expression: 'true' } },
  { given: { expression: 'true', other: 1 }, kept: { expression: 'true' } },
  { given: { expression: 'true', variables: null }, kept: { expression: 'true' } },
  { given: '{"expression":"true"}', kept: { expression: 'true' } },
  { given: { expression: 'a.b', variables: [{ name: 'a.b', expression: '1' }] } },
  {
    given: {
      expression: '"x"',
      variables: [{ name: 'h', expression: 'claims.sub == "y" ? hex(claims.sub) : ""' }],
    },
  },
  {
    given: {
      expression: '"x"',
      variables: [
        { name: 'a', expression: 'b' },
        { name: 'b', expression: '1' },
      ],
    },
  },
  { given: { expression: 'claims.ok ? pb.Auth{} : "no"' } },
  {
    given: { expression: '"x"', variables: two },
    warnings: ['cel_program has several variables "a"; the last one counts'],
  },
])('a write of $given is accepted', async ({ given, kept = given, warnings = null }) => {
  const { root } = await sharedDesk()
  const written = await root.write('auth/jwt/cel/role/accepted', { cel_program: given })

  expect([written.status, written.body.warnings, written.body.data?.cel_program]).toEqual([
    200,
    warnings,
    kept,
  ])
  expect((await root.read('auth/jwt/cel/role/accepted')).body.data?.cel_program).toEqual(kept)
})

const manyVariables = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ name: `v${at}`, expression: '1' }))
const tooLarge = '400 cel_program is too large: '
test.each([
  { name: 'text', program: { expression: `"${'x'.repeat(65_536)}"` } },
  {
    name: 'texts of variables',
    program: { expression: 'true', variables: [{ name: 'a', expression: `"${'x'.repeat(65_600)}"` }] },
  },
  { name: 'variables', program: { expression: 'true', variables: manyVariables(101) } },
  { name: 'nodes', program: { expression: `[${'1,'.repeat(10_001)}]` } },
  { name: 'parentheses', program: { expression: `${'('.repeat(251)}1${')'.repeat(251)}` } },
  { name: 'selections', program: { expression: `claims${'.a'.repeat(300)}` } },
  { name: 'negations', program: { expression: `${'!'.repeat(300)}true` } },
  { name: 'a long sum', program: { expression: `1${'+1'.repeat(2_000)}` } },
  { name: 'conditions', program: { expression: `${'true ? 1 : '.repeat(300)}1` } },
])('a program with too many $name is refused', async ({ program }) => {
  const { root } = await sharedDesk()

  expect(verdict(await root.write('auth/jwt/cel/role/large', { cel_program: program }))).toContain(tooLarge)
})

test('a program at the limits is accepted', async () => {
  const { root } = await sharedDesk()
  for (const program of [
    { expression: 'true', variables: manyVariables(100) },
    { expression: `${'('.repeat(240)}1${')'.repeat(240)}` },
    { expression: `1${'+1'.repeat(900)}` },
    { expression: `true${' && true'.repeat(3_000)}` },
  ])
    expect((await root.write('auth/jwt/cel/role/large', { cel_program: program })).status).toBe(200)
})
