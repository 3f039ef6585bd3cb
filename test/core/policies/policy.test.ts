import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodePolicyText, maxPolicyLength, parsePolicy } from '../../../src/core/policies/policy.ts'
import { ServiceError } from '../../../src/errors.ts'
import { anyCharacter } from '../../support/any-character.ts'
import { rounds } from '../../support/rounds.ts'
import { buildAcl } from './build-acl.ts'

const aclOf = (text: string) => buildAcl([parsePolicy(text)], { now: 0 })

/** The refusal without the common prefix. */
function refusalOf(text: string): string {
  try {
    parsePolicy(text)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    expect(error).toMatchObject({ kind: 'invalid', wrapped: false })
    expect(error.message).toMatch(/^failed to parse policy: /)
    return error.message.slice('failed to parse policy: '.length)
  }
  throw new Error('accepted')
}

const forms = `# one
// two
/* three
 path "no" { capabilities = ["read"] }
*/
name = "ignored"
path "a" {
  capabilities = [ "read",
 "list", ]
}
path "b" { capabilities = ["read"] } # tail
path "c" { comment = "why" capabilities = ["read"]
 allowed_parameters { "x" = [] y = ["1"] } }
path "d" {
  capabilities = ["read"]
  allowed_parameters = {
    x = []
    "y" = [],
  }
}
path "e\\u0041\\"q" { capabilities = ["read"] }
path "f" { capabilities = ["read"]
 comment = <<EOF
free } text "
EOF
}
"path" "g" { "capabilities" = ["read"] }
path h { capabilities = ["read"] },
path "i" { capabilities = ["read"], mfa_methods = [], comment = "\${x}" }
path "j" { capabilities = ["read"] capabilities = ["list"] policy = "" }
path "k" "l" { capabilities = ["read"] }
path { capabilities = ["read"] }
`

test.each<[string, string[]]>([
  ['no', ['deny']],
  ['a', ['list', 'read']],
  ['b', ['read']],
  ['c', ['read']],
  ['d', ['read']],
  ['eA"q', ['read']],
  ['f', ['read']],
  ['g', ['read']],
  ['h', ['read']],
  ['i', ['read']],
  ['j', ['list', 'read']],
  ['k', ['read']],
  ['path', ['read']],
])('the forms of HCL: path %s gets %j', (path, expected) => {
  expect(aclOf(forms).capabilities(path)).toEqual(expected)
})

test('CRLF is a line break like any other', () => {
  expect(aclOf(forms.replaceAll('\n', '\r\n')).capabilities('f')).toEqual(['read'])
  expect(refusalOf('\r\npath "a" {\r\n\r\n bad = 1\r\n}')).toBe(
    '1 error occurred:\n\t* path "a": invalid key "bad" on line 4\n\n',
  )
})

test.each([
  ['capability', 'path "/" { capabilities = ["read","banana"] }', 'path "/": invalid capability "banana"'],
  ['shorthand', 'path "/" { policy = "banana" }', 'path "/": invalid policy "banana"'],
  ['case of a capability', 'path "a" { capabilities = ["Read"] }', 'path "a": invalid capability "Read"'],
  [
    'a bad capability after a deny',
    'path "a" { capabilities = ["deny", "x"] }',
    'path "a": invalid capability "x"',
  ],
  [
    'key of a stanza',
    'path "/" {\n  policy = "read"\n  capabilites = ["read"]\n}',
    '1 error occurred:\n\t* path "/": invalid key "capabilites" on line 3\n\n',
  ],
  ['top-level key', '\nbad = "x"\n', '1 error occurred:\n\t* invalid key "bad" on line 2\n\n'],
  [
    'top-level keys',
    'bad = "x"\nworse = 1',
    '2 errors occurred:\n\t* invalid key "bad" on line 1\n\t* invalid key "worse" on line 2\n\n',
  ],
  [
    'keys of one stanza',
    'path "a" {\n capabilities = ["read"]\n foo = 1\n bar = 2\n}',
    '2 errors occurred:\n\t* path "a": invalid key "foo" on line 3\n\t* path "a": invalid key "bar" on line 4\n\n',
  ],
  [
    'the first bad stanza only',
    'path "a" { x = 1 }\npath "b" { y = 1 }',
    '1 error occurred:\n\t* path "a": invalid key "x" on line 1\n\n',
  ],
  [
    'control groups',
    'path "a" { control_group = {} }',
    '1 error occurred:\n\t* path "a": invalid key "control_group" on line 1\n\n',
  ],
  [
    'wildcards',
    'path "foo/+*" { capabilities = ["read"] }',
    `path "foo/+*": invalid use of wildcards ('+*' is forbidden)`,
  ],
  [
    'wildcards, slash cut',
    'path "/foo/+*" { capabilities = ["read"] }',
    `path "foo/+*": invalid use of wildcards ('+*' is forbidden)`,
  ],
  [
    'wildcards inside',
    'path "a/+*/b" { capabilities = ["read"] }',
    `path "a/+*/b": invalid use of wildcards ('+*' is forbidden)`,
  ],
  [
    'wrapping TTLs',
    'path "a" { min_wrapping_ttl = 400 max_wrapping_ttl = 300 }',
    'max_wrapping_ttl cannot be less than min_wrapping_ttl',
  ],
  [
    'least TTL',
    'path "a" { min_wrapping_ttl = "abc" }',
    'error parsing min_wrapping_ttl: time: invalid duration "abc"',
  ],
  [
    'greatest TTL',
    'path "a" { max_wrapping_ttl = "1y" }',
    'error parsing max_wrapping_ttl: time: unknown unit "y" in duration "1y"',
  ],
  [
    'template',
    'path "a/{{identity.entity.id" {}',
    'failed to validate policy templating: unbalanced templating characters',
  ],
  [
    'template, only closed',
    'path "a/}}" {}',
    'failed to validate policy templating: unbalanced templating characters',
  ],
  [
    'template, closed twice',
    'path "a/{{x}}}}" {}',
    'failed to validate policy templating: unbalanced templating characters',
  ],
  [
    'expiration',
    'path "x" { expiration = "tomorrow" }',
    'path "x": invalid expiration time: could not parse string as date and time',
  ],
  ['JSON, capability', '{"path": {"a": {"capabilities": ["nope"]}}}', 'path "a": invalid capability "nope"'],
  ['JSON, top-level key', '{"paths": {}}', '1 error occurred:\n\t* invalid key "paths" on line 1\n\n'],
  [
    'JSON, line of a key',
    '{\n "path": {\n  "a\\n\\"": {\n   "capabilities": [],\n   "bad": {"x": [1, -2.5e3, null]}\n}}}',
    '1 error occurred:\n\t* path "a\\n\\"": invalid key "bad" on line 5\n\n',
  ],
  ['a number as capability', 'path "a" { capabilities = [1] }', 'path "a": invalid capability "1"'],
  [
    'a list as one text',
    'path "a" { capabilities = "read" }',
    'path "a": At 1:27: capabilities: a list is needed',
  ],
  [
    'parameters as text',
    'path "a" { allowed_parameters = "x" }',
    'path "a": At 1:33: allowed_parameters: a map of lists is needed',
  ],
  [
    'parameters as list',
    'path "a" { denied_parameters = [] }',
    'path "a": At 1:32: denied_parameters: a map of lists is needed',
  ],
  [
    'parameter values as text',
    'path "a" { allowed_parameters = { x = "y" } }',
    'path "a": At 1:39: allowed_parameters: a list is needed',
  ],
  [
    'required as text',
    'path "a" { required_parameters = "x" }',
    'path "a": At 1:34: required_parameters: a list is needed',
  ],
  ['a path that is not a block', 'path = "x"', 'path "path": At 1:8: a path takes a block'],
  ['a label on a key', 'path "a" { capabilities "x" { } }', 'path "a": At 1:25: only path has a label'],
  ['a word as policy', 'path "a" { policy = true }', 'path "a": At 1:21: policy: a text is needed'],
])('refused text, %s: %s', (_name, text, expected) => {
  expect(refusalOf(text)).toBe(expected)
})

test.each([
  [`path 'a' { capabilities = ["read"] }`, '1:6'],
  ['path "a" { capabilities = ["read"]; }', '1:35'],
  ['path "a" { capabilities = ["read" "list"] }', '1:35'],
  ['path "a\nb" { capabilities = ["read"] }', '1:8'],
  ['path "a" {"capabilities": ["read"]}', '1:25'],
  ['path "a" { capabilities = ["read"] ', '1:36'],
  ['path "a" { capabilities = ["read"] }}', '1:37'],
  ['path "a" {', '1:11'],
  ['path "a" { capabilities = ["read" }', '1:35'],
  ['path "a" { capabilities = ["read"', '1:34'],
  ['path "a" { capabilities = "read', '1:32'],
  ['hello', '1:6'],
  ['path "a" = { }', '1:10'],
  ['= 1', '1:1'],
  ['{', '1:2'],
  ['\ufeffpath "a" {}', '1:1'],
  ['\ufeff{"path": {}}', '1:1'],
  ['path "a" { comment = word }', '1:22'],
  ['path "a" { comment = - }', '1:22'],
  ['path "a" { comment = 1. }', '1:22'],
  ['path "a" { comment = 1e }', '1:22'],
  ['path "\\q" {}', '1:7'],
  ['path "\\u12" {}', '1:7'],
  ['path "\\U00110000" {}', '1:7'],
  ['\n /* open', '2:2'],
  ['comment = << \nEOF\n', '1:11'],
  ['comment = <<EOF\nx', '1:11'],
  ['comment = <<EOF\nx\n', '1:11'],
  [`path "\${" {}`, '1:13'],
  ['{"path": {"a": }}', '1:16'],
  ['{"path": {"a": {}}', '1:19'],
  ['{"path": {}} x', '1:14'],
  ['{"path": {},}', '1:13'],
  ['{"path": {} "name": 1}', '1:13'],
  ['{"name": 01}', '1:10'],
  ['{"name": "\\x"}', '1:10'],
  ['{"name": "a\nb"}', '1:10'],
  ['{"name": "open}', '1:10'],
  ['{"name" 1}', '1:9'],
  ['{1: 2}', '1:2'],
  ['{"name": [1 2]}', '1:13'],
  ['{"name":\u00a01}', '1:9'],
  ['{"path": "x"}', '1:10'],
  ['{"path": ["x"]}', '1:11'],
  ['path "a" {\n  ö = 1 }', '2:3'],
])('an error names its position: %j at %s', (text, place) => {
  expect(refusalOf(text)).toMatch(new RegExp(`^At ${place}: `))
})

test.each([
  '',
  ' \n\t',
  '# only a comment',
  '/* and\nanother */ // third',
  '{}',
  '\n {"name": "x", "path": {}}',
  '{"path": []}',
])('an empty policy is a policy: %j', (text) => {
  expect(parsePolicy(text).stanzas).toEqual([])
})

test.each([
  '{"path": {"a": {"capabilities": ["read"]}, "b": {"policy": "read"}}}',
  '{"path": [{"a": {"capabilities": ["read"]}}, {"b": {"policy": "read"}}]}',
  '\r\n{"name": "n", "path": {"a": [{"capabilities": []}, {"capabilities": ["read"]}], "b": {"policy": "read"}}}',
  '{"path": {"a": {"capabilities": []}, "a": {"capabilities": ["read"]}, "b": {"policy": "read", "comment": {"x": [null, true, -1e2]}}}}',
])('the forms of JSON: %s', (text) => {
  const acl = aclOf(text)

  expect(acl.capabilities('a')).toEqual(['read'])
  expect(acl.capabilities('b')).toEqual(['list', 'read'])
})

test('shorthand and capabilities add up on one line', () => {
  expect(aclOf('path "a" { policy = "read" capabilities = ["update"] }').capabilities('a')).toEqual([
    'list',
    'read',
    'update',
  ])
})

test.each([
  ['100', 100],
  ['"100"', 100],
  ['"100s"', 100],
  ['"1m40s"', 100],
  ['0', undefined],
  ['""', undefined],
])('a wrapping TTL of %s is %s', (written, seconds) => {
  const [stanza] = parsePolicy(`path "a" { min_wrapping_ttl = ${written} }`).stanzas

  expect(stanza?.grants.minWrappingTtlSeconds).toBe(seconds)
})

test('a heredoc keeps its lines; with a dash it loses the indentation of its last one', () => {
  const value = (text: string) =>
    JSON.stringify(aclOf(`path "p" { denied_parameters = { x = [${text}] } }`).resultant())

  expect(value('<<EOF\n  a\n\n b\nEOF\n')).toContain(JSON.stringify('  a\n\n b\n'))
  expect(value('<<-EOF\n    a\n   b\n  EOF\n')).toContain(JSON.stringify('  a\n b\n'))
  expect(value('<<-EOF\n    a\n b\n  EOF\n')).toContain(JSON.stringify('    a\n b\n'))
})

test('a template in a string may contain quotes and line breaks', () => {
  const label = `a\${"x"\n{} }b`

  expect(aclOf(`path "${label}" { capabilities = ["read"] }`).capabilities(label)).toEqual(['read'])
})

test('names like those of object members are ordinary parameter names', () => {
  const acl = aclOf('path "__proto__" { capabilities = ["update"] denied_parameters = { constructor = [] } }')

  expect(acl.decide({ operation: 'update', path: '__proto__', fields: { a: '1' } }).allowed).toBe(true)
  expect(acl.decide({ operation: 'update', path: '__proto__', fields: { constructor: '1' } }).allowed).toBe(
    false,
  )
  expect(JSON.stringify(acl.resultant())).toContain('"__proto__":')
})

test.each([
  ['cGF0aCAiYSIge30=', 'path "a" {}'],
  ['cGF0aCAi\r\nYSIge30=\n', 'path "a" {}'],
  ['path "a" {}', 'path "a" {}'],
  ['cGF0aCAiYSIge30', 'cGF0aCAiYSIge30'],
  ['cGF0aCAiYSIge3_=', 'cGF0aCAiYSIge3_='],
  ['', ''],
  ['\n', '\n'],
])('a text that is base64 is decoded: %j is %j', (text, decoded) => {
  expect(decodePolicyText(text)).toBe(decoded)
})

test('a text longer than the bound is refused before it is read', () => {
  expect(refusalOf('#'.repeat(maxPolicyLength + 1))).toMatch(/^the text is longer/)
  expect(parsePolicy('#'.repeat(maxPolicyLength)).stanzas).toEqual([])
})

test.each([
  ['lists', (depth: number) => `path "a" { comment = ${'['.repeat(depth)}${']'.repeat(depth)} }`],
  ['objects', (depth: number) => `path "a" { comment = ${'{ x = '.repeat(depth)}1${' }'.repeat(depth)} }`],
  ['JSON', (depth: number) => `{"path":{"a":{"comment":${'['.repeat(depth)}${']'.repeat(depth)}}}}`],
])('nesting is limited: %s', (_name, textOf) => {
  expect(parsePolicy(textOf(40)).stanzas).toHaveLength(1)
  for (const depth of [70, 100_000])
    expect(refusalOf(textOf(depth))).toMatch(/^At 1:\d+: nested more than 64 levels deep$/)
})

test('the error for many unknown keys stays short', () => {
  expect(refusalOf('x=1\n'.repeat(100_000)).length).toBeLessThan(10_000)
})

const fragment = fc.oneof(
  fc.constantFrom(...'{}[]=,"\\\n\r#/*<-+.$ \t'),
  fc.constantFrom(
    'path',
    'capabilities',
    'policy',
    '"read"',
    '["read"]',
    '{{',
    '}}',
    '<<EOF\n',
    '\nEOF\n',
    '${',
    '//',
    '/*',
    '*/',
    '\\u00e9',
    '1',
    '-1.5e3',
    'true',
  ),
  fc.constantFrom(
    'allowed_parameters',
    'min_wrapping_ttl',
    'expiration',
    'path "a" { ',
    '{"path":',
    '"a":',
    ':',
    'null',
  ),
  fc.string({ unit: anyCharacter }),
)

test('any text is either a policy or refused', () => {
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 40 }), (fragments) => {
      try {
        const acl = aclOf(fragments.join(''))
        JSON.stringify(acl.resultant())
      } catch (error) {
        expect(error).toBeInstanceOf(ServiceError)
      }
    }),
    { numRuns: 750 * rounds },
  )
})

test('a JSON policy means the same in HCL', () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 8 }).filter((text) => !/[{}]|\+\*/.test(text))
  const capabilities = fc.subarray([
    'create',
    'read',
    'update',
    'delete',
    'list',
    'sudo',
    'patch',
    'scan',
    'deny',
  ])
  fc.assert(
    fc.property(fc.dictionary(word, capabilities), (capabilitiesByPath) => {
      const entries = Object.entries(capabilitiesByPath)
      const hcl = entries
        .map(([path, words]) => `path ${hclQuoted(path)} { capabilities = ${JSON.stringify(words)} }`)
        .join('\n')
      const json = JSON.stringify({
        path: Object.fromEntries(entries.map(([path, words]) => [path, { capabilities: words }])),
      })

      expect(aclOf(hcl).resultant()).toEqual(aclOf(json).resultant())
    }),
  )
})

const hclQuoted = (text: string) =>
  `"${[...text].map((character) => `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`).join('')}"`
