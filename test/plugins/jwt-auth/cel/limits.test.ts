import { expect, test } from 'vitest'
import { shared } from '../../../support/shared.ts'
import { openDesk, verdict } from './desk.ts'

const sharedDesk = shared(() => openDesk())
const failed = '400 error executing cel program: CEL auth program failed: '
const tooLong = `${failed}the program took too long`
const tooLarge = `${failed}the program made too large a value`

/** Variables `v0` to `v<count>`, each twice the one before. */
const doublings = (first: string, count: number) => ({
  v0: first,
  ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`v${at + 1}`, `v${at} + v${at}`])),
})
/** Lists that hold the one before twice: little to make, much to look through. */
const nested = (count: number) => ({
  v0: '[1]',
  ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`v${at + 1}`, `[v${at}, v${at}]`])),
})

test.each([
  {
    name: 'loops in loops',
    expression: 'string(lists.range(60000).all(a, lists.range(60000).all(b, a + b >= 0)))',
    is: tooLong,
  },
  {
    name: 'a comparison of what was doubled',
    expression: 'string(v60 == v60)',
    variables: nested(60),
    is: tooLong,
  },
  { name: 'a text of what was doubled', expression: '"%s".format([v60])', variables: nested(60), is: failed },
  { name: 'a text that doubles', expression: 'v22', variables: doublings('"abcd"', 22), is: tooLarge },
  {
    name: 'a list that doubles',
    expression: 'string(v22.size())',
    variables: doublings('[1]', 22),
    is: tooLarge,
  },
  { name: 'a long list', expression: 'string(lists.range(1000000000).size())', is: tooLarge },
  {
    name: 'a list of more than an int',
    expression: 'string(lists.range(9223372036854775807).size())',
    is: tooLarge,
  },
  {
    name: 'a replacement',
    expression: 'v16.replace("a", v16)',
    variables: doublings('"a"', 16),
    is: tooLarge,
  },
  {
    name: 'a join',
    expression: 'lists.range(60000).map(i, v10).join(v10)',
    variables: doublings('"a"', 10),
    is: tooLarge,
  },
  {
    name: 'a format',
    expression: '"%s%s".format([v19, v20])',
    variables: doublings('"a"', 20),
    is: tooLarge,
  },
  {
    name: 'a long precision',
    expression: '"%.99f".format([1.0]) == "" ? "" : "short"',
    is: '400 error executing cel program: CEL role',
  },
  {
    name: 'a pattern that is too long',
    expression: 'string("a".matches(v13))',
    variables: doublings('"a"', 13),
    is: tooLarge,
  },
  {
    name: 'a long pattern and a long text',
    expression: 'string(v19.matches(v9))',
    variables: doublings('"a"', 19),
    is: tooLong,
  },
  {
    name: 'a replacement by a pattern',
    expression: 'regex.replace(v16, "a", v8)',
    variables: doublings('"a"', 16),
    is: tooLarge,
  },
])('$name ends with a refusal', async ({ is, ...program }) => {
  const { judge } = await sharedDesk()

  expect(verdict(await judge(program))).toContain(is)
})

test('patterns are matched in linear time', async () => {
  const { judge } = await sharedDesk()

  expect(
    verdict(await judge('string(claims.long.matches("(a+)+$"))', { long: `${'a'.repeat(20_000)}b` })),
  ).toMatch(/message: false$/)
})

test('after programs that ran to their limit, others are evaluated, and the refusals have a reason', async () => {
  await using desk = await openDesk()
  const { judge, login, write, root } = desk
  await write('slow', {
    expression: 'string(lists.range(60000).all(a, lists.range(60000).all(b, a + b >= 0)))',
  })

  const slow = await Promise.all(Array.from({ length: 6 }, () => login('slow')))
  expect(slow.map(verdict)).toEqual(slow.map(() => tooLong))
  expect(verdict(await judge('pb.Auth{}'))).toBe('ok')
  expect((await root.read('auth/jwt/failures?role=slow&limit=1')).body.data?.failures).toMatchObject([
    { reason: 'cel_limit', check: 'program' },
  ])
})
