import { expect, test } from 'vitest'
import { checkedProgram, type Program, run } from '../../../../src/plugins/jwt-auth/cel/program.ts'

const half = 512 * 1024
const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at))
const json = (value: number) =>
  JSON.stringify(Object.fromEntries(lines(30_000, (at) => `k${at}`).map((key) => [key, value])))

/** What an evaluation gives, with so many milliseconds already spent. */
const given = (program: Program, claims: Record<string, unknown> = {}, spentMs = 0, isTraced = false) =>
  run(
    checkedProgram(program),
    { claims, now: Date.now(), operation: 'update' },
    { isTraced, spentMs: () => spentMs },
  )
const one = (expression: string): Program => ({ variables: [], expression })
const tooLong = { kind: 'limit', text: 'the program took too long' }
const tooLarge = { kind: 'limit', text: 'the program made too large a value' }

const large = {
  text: 'a'.repeat(half),
  other: `${'a'.repeat(half)}b`,
  digits: `[${'1,'.repeat(half / 2)}}`,
  blanks: ' '.repeat(half),
  list: lines(30_000, String),
  numbers: lines(30_000, () => '1').map(Number),
  mapOne: json(1),
}
const costly = [
  'claims.text < claims.other',
  'claims.text == claims.other',
  'claims.text.contains("b")',
  'claims.text.startsWith(claims.other)',
  'claims.text.indexOf("b") > 0',
  'claims.text.lastIndexOf("b") > 0',
  'claims.text.split("b").size() > 0',
  'claims.text.replace("b", "c") != ""',
  'claims.text.substring(1) != ""',
  'claims.text.size() > 0',
  'claims.text.reverse() != ""',
  'claims.text.upperAscii() != ""',
  'claims.blanks.trim() != ""',
  'claims.text.matches("b")',
  'regex.extractAll(claims.text, "b").size() > 0',
  'regex.replace(claims.text, "b", "c") != ""',
  '"%s".format([claims.text]) != ""',
  '"%x".format([claims.text]) != ""',
  'claims.text.format([]) != ""',
  'bytes(claims.text).size() > 0',
  'base64.decode(claims.text).size() > 0',
  'strings.quote(claims.text) != ""',
  'now.getHours(claims.text) > 0',
  'decode_json(claims.digits) == false',
  'decode_json(claims.mapOne) == false',
  'encode_json({"a": claims.text}) == ""',
  'check_valid_email(claims.text)',
  'claims.list.sort().size() > 0',
  'claims.list.reverse().size() > 0',
  'claims.list.join("") == ""',
  'claims.list.slice(0, 1).size() > 0',
  'claims.list + claims.list == []',
  '"none" in claims.list',
  'math.greatest(claims.numbers) > 0',
  'pb.Auth{policies: claims.list} == pb.Auth{}',
]

test.each(costly)('%s looks at the clock', (expression) => {
  expect(given(one(`string(${expression})`), large, 101).outcome).toEqual(tooLong)
})

test('a program with little to do does not look at the clock', () => {
  expect(given(one('string(claims.text.size() > 0)'), { text: 'a' }, 101).outcome).toEqual({
    kind: 'message',
    text: 'true',
  })
})

const doubled = (first: string, next: (before: string) => string, count: number) => [
  { name: 'v0', expression: first },
  ...Array.from({ length: count }, (_, at) => ({ name: `v${at + 1}`, expression: next(`v${at}`) })),
]
test.each([
  {
    name: 'a search that looks at a part for each character',
    expression: 'string((v18 + "a").contains(v17 + "b" + v17))',
    variables: doubled('"aa"', (before) => `${before} + ${before}`, 18),
    is: tooLong,
  },
  {
    name: 'a pattern whose repetitions are many instructions',
    expression: `string("a".matches("${'a{1000}'.repeat(50)}"))`,
    variables: [],
    is: tooLarge,
  },
  {
    name: 'a pattern with repetitions of repetitions',
    expression: `string("a".matches("((${'abcde'.repeat(40)}){30}){30}"))`,
    variables: [],
    is: tooLarge,
  },
  {
    name: 'a pattern of many ranges whose case does not matter',
    expression: `string("a".matches(r"(?i)[${'a-\\x{fff0}'.repeat(33)}]"))`,
    variables: [],
    is: tooLarge,
  },
  {
    name: 'a replacement with many references',
    expression: 'regex.replace(v17, "a*", v17.replace("a", "\\\\0"))',
    variables: doubled('"a"', (before) => `${before} + ${before}`, 17),
    is: tooLarge,
  },
  {
    name: 'many copies of a large text as JSON',
    expression: 'encode_json({"a": lists.range(60000).map(i, v18)})',
    variables: doubled('"aa"', (before) => `${before} + ${before}`, 18),
    is: tooLarge,
  },
  {
    name: 'many copies of large bytes as text',
    expression: '"%s".format([lists.range(60000).map(i, b"a" + bytes(v18))])',
    variables: doubled('"aa"', (before) => `${before} + ${before}`, 18),
    is: tooLarge,
  },
  {
    name: 'a result that holds a large text many times',
    expression: 'pb.Auth{policies: [v18, v18, v18]}',
    variables: doubled('"aa"', (before) => `${before} + ${before}`, 18),
    is: tooLarge,
  },
  {
    name: 'much that is forgotten again',
    expression: 'string(lists.range(60000).all(i, lists.range(60000).size() > 0))',
    variables: [],
    is: tooLarge,
  },
])('$name ends with a refusal', ({ expression, variables, is }) => {
  expect(given({ variables, expression }).outcome).toEqual(is)
})

test.each([
  ['regex.extractAll(claims.text, "a").size() == 20000', 'true'],
  ['regex.replace(claims.text, "a", "bc").size() == 40000', 'true'],
  ['claims.text.replace("a", "bc").size() == 40000', 'true'],
  ['claims.text.split("").join("").size() == 20000', 'true'],
  ['lists.range(20000).map(i, [i, i]).flatten().size() == 40000', 'true'],
  ['claims.text.replace("a", "%d").substring(0, 4000).format(lists.range(2000)).size() == 6890', 'true'],
])('%s, as many small pieces are not much', (expression, text) => {
  const claims = { text: 'a'.repeat(20_000) }

  expect(given(one(`string(${expression})`), claims).outcome).toEqual({ kind: 'message', text })
})

test('the clock is looked at for each new pattern, as none can be interrupted', () => {
  const expression = (pattern: string) => one(`string("x".matches("${pattern}"))`)

  expect(given(expression('new'), {}, 101).outcome).toEqual(tooLong)
  expect(given(expression('known')).outcome).toEqual({ kind: 'message', text: 'false' })
  expect(given(expression('known'), {}, 101).outcome).toEqual({ kind: 'message', text: 'false' })
  expect(given(expression('(?i)[a-z][0-9a-f_-]+')).outcome).toEqual({ kind: 'message', text: 'false' })
})

test('a list of less than nothing is empty, and buys no time', () => {
  const expression = 'lists.range(-9223372036854775807).size() == 0 && lists.range(3000).all(i, i >= 0)'

  expect(given(one(`string(${expression})`)).outcome).toEqual({ kind: 'message', text: 'true' })
  expect(given(one(`string(${expression})`), {}, 101).outcome).toEqual(tooLong)
})

test('lists without elements that hold each other twice are not walked for ever', () => {
  const variables = doubled('[]', (before) => `[${before}, ${before}]`, 40)

  expect(given({ variables, expression: 'string(v40.flatten(50).size())' }, {}, 101).outcome).toEqual(tooLong)
})

test.each([
  'v20 == v20',
  '"%s".format([v20]) == ""',
  'encode_json({"a": v20}) == ""',
  'v20.flatten(5000).size() == 1',
  '[v20] == [v20].distinct()',
  'v20 in [v20]',
  'decode_json(claims.deep) == false',
  'o20 == o20',
])('%s is refused, as the value is nested too deep', (expression) => {
  const variables = [
    ...doubled('[1]', (before) => `${'['.repeat(100)}${before}${']'.repeat(100)}`, 20),
    ...doubled(
      'optional.of(1)',
      (before) => `${'optional.of('.repeat(100)}${before}${')'.repeat(100)}`,
      20,
    ).map(({ name, expression }) => ({
      name: name.replace('v', 'o'),
      expression: expression.replace('v', 'o'),
    })),
  ]
  const claims = { deep: `${'['.repeat(5_000)}${']'.repeat(5_000)}` }

  expect(given({ variables, expression: `string(${expression})` }, claims).outcome).toEqual(tooLarge)
})

test.each([
  { name: 'of operators', inner: (depth: number) => `1${'+1'.repeat(depth)}`, most: 1_249 },
  { name: 'of brackets', inner: (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`, most: 250 },
  { name: 'of both', inner: (depth: number) => `${'-'.repeat(240)}(1${'+1'.repeat(depth)})`, most: 1_009 },
])('a program may have so many levels $name, and no more', ({ inner, most }) => {
  expect(() => checkedProgram(one(inner(most)))).not.toThrow()
  expect(() => checkedProgram(one(inner(most + 1)))).toThrow(/^cel_program is too large: .*(level|limit)/)
})

test('types that double with each step are checked at once', () => {
  const steps = lines(60, (at) => `.map(x${at}, {string(x${at}): x${at}, "b": x${at}})`).join('')
  const maps = lines(60, (at) => `.map(x${at}, {x${at}: x${at}})`).join('')

  expect(() => checkedProgram(one(`[1]${steps}.all(y, y == y)`))).not.toThrow()
  expect(() => checkedProgram(one(`[1]${maps}.all(y, y == y)`))).not.toThrow()
})

test('a variable that is too large to show does not change what is decided', () => {
  const variables = doubled('[1]', (before) => `[${before}, ${before}]`, 40)
  const { outcome, variables: shown } = given({ variables, expression: 'false' }, {}, 0, true)

  expect(outcome).toEqual({ kind: 'denied' })
  expect(shown[1]).toEqual({ name: 'v1', value: '[[1],[1]]', error: '' })
  expect(shown[40]).toEqual({ name: 'v40', value: 'list', error: '' })
})

test('half of a pair of surrogates is replaced, as it could not be stored', () => {
  expect(given(one(String.raw`decode_json('{"\\ud800":"\\udc00"}').map(k, k).join("")`)).outcome).toEqual({
    kind: 'message',
    text: '\ufffd',
  })
})

test.each([
  [String.raw`b"é\xff\101" == b"\303\251\377A"`],
  ['b"\u{10ff41}" == b"\\364\\217\\275\\201"'],
  ['b"\\\\" == b"\\x5c"'],
])('%s', (expression) => {
  expect(given(one(`string(${expression})`)).outcome).toEqual({ kind: 'message', text: 'true' })
})
