import { expect, test } from 'vitest'
import { type Acl, type AclOperation, rootAcl } from '../../../src/core/policies/acl.ts'
import { parsePolicy } from '../../../src/core/policies/policy.ts'
import type { FieldReading } from '../../../src/lib/text/fields.ts'
import { jsonNumber, parseJson } from '../../../src/lib/text/json.ts'
import { buildAcl } from './build-acl.ts'

const aclOf = (...texts: string[]): Acl => buildAcl(texts.map(parsePolicy), { now: 0 })
const can = (acl: Acl, operation: AclOperation, path: string) => acl.decide({ operation, path }).allowed

const p1 = `
path "dev/*" { policy = "sudo" }
path "stage/*" { policy = "write" }
path "stage/aws/*" { policy = "read" capabilities = ["update", "sudo"] }
path "stage/aws/policy/*" { policy = "sudo" }
path "prod/*" { policy = "read" }
path "prod/aws/*" { policy = "deny" }
path "sys/*" { policy = "deny" }
path "foo/bar" { capabilities = ["read", "create", "sudo"] }
path "baz/quux" { capabilities = ["read", "create", "patch"] }
path "test/+/segment" { capabilities = ["read"] }
path "+/segment/at/front" { capabilities = ["read"] }
path "test/segment/at/end/+" { capabilities = ["read"] }
path "test/segment/at/end/v2/+/" { capabilities = ["read"] }
path "test/+/wildcard/+/*" { capabilities = ["read"] }
path "1/2/*" { capabilities = ["create"] }
path "1/2/+" { capabilities = ["read"] }
path "1/2/+/+" { capabilities = ["update"] }
path "asdf/fdsa" { capabilities = ["scan"] }
`
const p2 = `
path "dev/hide/*" { policy = "deny" }
path "stage/aws/policy/*" { policy = "deny" capabilities = ["read", "update", "sudo"] }
path "prod/*" { policy = "write" }
path "sys/seal" { policy = "sudo" }
path "foo/bar" { policy = "deny" }
path "baz/quux" { policy = "deny" }
`

type Row = [operations: AclOperation[], path: string, allowed: boolean, sudo?: boolean]

const onePolicy: Row[] = [
  [['read'], 'root', false, false],
  [['help'], 'root', true, false],
  [['read', 'update'], 'dev/foo', true, true],
  [['delete'], 'stage/foo', true, false],
  [['list'], 'stage/aws/foo', true, true],
  [['update'], 'stage/aws/foo', true, true],
  [['update'], 'stage/aws/policy/foo', true, true],
  [['delete', 'update'], 'prod/foo', false, false],
  [['read', 'list'], 'prod/foo', true, false],
  [['read'], 'prod/aws/foo', false, false],
  [['read', 'create'], 'foo/bar', true, true],
  [['list', 'update'], 'foo/bar', false, true],
  [['read', 'create', 'patch'], 'baz/quux', true, false],
  [['list', 'update', 'scan'], 'baz/quux', false, false],
  [['scan'], 'asdf/fdsa', true],
  [['list'], 'asdf/fdsa', false],
  [['read'], 'test/foo/bar/segment', false],
  [['read'], 'test/foo/segment', true],
  [['read'], 'test/bar/segment', true],
  [['read'], 'test/segment/at/front', true],
  [['read'], 'test/segment/at/frond', false],
  [['read'], 'test/segment/at/end/foo', true],
  [['read'], 'test/segment/at/end/foo/', false],
  [['read'], 'test/segment/at/end/v2/foo/', true],
  [['read'], 'test/segment/wildcard/at/foo/', true],
  [['read'], 'test/segment/wildcard/at/end', true],
  [['read'], 'test/segment/wildcard/at/end/', true],
  [['read'], '1/2/3', true],
  [['update'], '1/2/3', false],
  [['read'], '1/2/3/4', false],
  [['update'], '1/2/3/4', true],
  [['create'], '1/2/3/4/5', true],
]

test.each(onePolicy)('one policy: %j on %s is %j', (operations, path, allowed, sudo) => {
  const acl = aclOf(p1)

  for (const operation of operations) {
    const decision = acl.decide({ operation, path })
    expect(decision.allowed).toBe(allowed)
    if (sudo !== undefined) expect(decision.sudo).toBe(sudo)
  }
})

test.each([
  ['dev', ['deny']],
  ['dev/', ['create', 'delete', 'list', 'read', 'sudo', 'update']],
  ['stage/aws/test', ['list', 'read', 'sudo', 'update']],
  ['baz/quux', ['create', 'patch', 'read']],
])('capabilities of %s', (path, expected) => {
  expect(aclOf(p1).capabilities(path)).toEqual(expected)
})

const writing: AclOperation[] = ['create', 'read', 'update', 'patch', 'delete', 'list', 'scan']
const twoPolicies: Row[] = [
  [['read', 'update'], 'dev/hide/foo', false],
  [['update'], 'stage/aws/policy/foo', false],
  [['delete', 'update', 'read', 'list'], 'prod/foo', true],
  [['read'], 'prod/aws/foo', false],
  [['read'], 'sys/status', false],
  [['update'], 'sys/seal', true, true],
  [writing, 'foo/bar', false, false],
  [writing, 'baz/quux', false, false],
]

test.each(twoPolicies)('two policies in either order: %j on %s is %j', (operations, path, allowed, sudo) => {
  for (const acl of [aclOf(p1, p2), aclOf(p2, p1)]) {
    for (const operation of operations) {
      const decision = acl.decide({ operation, path })
      expect(decision.allowed).toBe(allowed)
      if (sudo !== undefined) expect(decision.sudo).toBe(sudo)
    }
  }
})

test.each([
  ['fewer wildcards, the shorter pattern', '+/*', '*', 'foo/bar/bar/baz'],
  ['first wildcard further right, both open', '+/*', 'foo/+/*', 'foo/bar/bar/baz'],
  ['not open, the longer pattern', 'foo/+/+/*', 'foo/+/bar/baz', 'foo/bar/bar/baz'],
  ['fewer wildcards in the middle', 'foo/+/+/baz', 'foo/+/bar/baz', 'foo/bar/bar/baz'],
  [
    'first wildcard further right, a parenthesis is only a character',
    'foo/+/(ar/baz',
    'foo/(ar/+/baz',
    'foo/(ar/(ar/baz',
  ],
  ['not open, the shorter pattern', 'foo/bar/+/baz*', 'foo/bar/+/baz', 'foo/bar/bar/baz'],
  ['longer', 'foo/bar/+/b*', 'foo/bar/+/ba*', 'foo/bar/bar/baz'],
  ['fewer wildcards, both open', 'secret/+/+/foo/*', 'secret/*', 'secret/a/b/foo/x'],
  ['not open, one more wildcard', 'cloud/*', 'cloud/+/prod', 'cloud/creds/prod'],
  ['first wildcard further right, though open', 'cloud/+/prod', 'cloud/creds/*', 'cloud/creds/prod'],
  ['first wildcard further right, a star behind a letter', 'a/+', 'a/b*', 'a/bc'],
  ['not open, one segment', 'a/*', 'a/+', 'a/b'],
  ['as many wildcards, as long', 'a/+/+/c', 'a/+/b/+', 'a/x/b/c'],
  ['longer prefix', 'a/*', 'a/b*', 'a/bc'],
  ['exact before prefix', 'a/b*', 'a/bc', 'a/bc'],
  ['exact before segment', '+/b', 'a/b', 'a/b'],
  ['first wildcard further right', '+/+', 'a/+', 'a/b'],
  ['first wildcard further right, fewer wildcards or not', '+/b', 'a/+', 'a/b'],
  ['glob of a prefix further right', 'a/+/c*', 'a/b/*', 'a/b/c'],
  ['fewer wildcards', '+/+/c', '+/b/c', 'a/b/c'],
  ['fewer wildcards at the end', '+/b/+', '+/b/c', 'a/b/c'],
  ['not open', 'a/+/b/*', 'a/+/b/+', 'a/x/b/c'],
  ['not open, everything', '*', '+', 'a'],
  ['segment behind a prefix', 'a/b/*', 'a/b/+/d', 'a/b/c/d'],
  ['longer in bytes, not in characters', '+/+/abc', '+/üü/+', 'x/üü/abc'],
  ['greater in byte order, not in UTF-16 order', '+/+/\uffee', '+/\u{1f600}x/+', 'a/\u{1f600}x/\uffee'],
])('%s: of two patterns %s loses to %s on %s', (_name, first, second, path) => {
  const loser = `path "${first}" { capabilities = ["read"] }`
  const winner = `path "${second}" { capabilities = ["update"] }`

  for (const acl of [aclOf(loser, winner), aclOf(winner, loser)]) {
    expect(can(acl, 'update', path)).toBe(true)
    expect(can(acl, 'read', path)).toBe(false)
  }
})

const folders = `
path "foo/metadata/*" { capabilities = ["list", "scan"] }
path "foo/metadata/private/*" { policy = "deny" }
path "foo/metadata/private/granted/*" { capabilities = ["list", "scan"] }
`
const stanza = (path: string, ...capabilities: string[]) =>
  `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }\n`

test.each<[string, string, AclOperation, string, boolean]>([
  ['a list by a rule without the slash', stanza('cloud/roles', 'list'), 'list', 'cloud/roles/', true],
  ['a list by a rule with the slash', stanza('cloud/roles/', 'list'), 'list', 'cloud/roles/', true],
  [
    'a deny with the slash decides',
    stanza('cloud/roles/', 'deny') + stanza('cloud/roles', 'list'),
    'list',
    'cloud/roles/',
    false,
  ],
  [
    'an exact rule without the slash beats a prefix',
    stanza('cloud/*', 'read') + stanza('cloud/roles', 'list'),
    'list',
    'cloud/roles/',
    true,
  ],
  ['a prefix covers its folder', stanza('secret/*', 'list'), 'list', 'secret/', true],
  ['a prefix covers its folder, slash left out', stanza('secret/*', 'list'), 'list', 'secret', true],
  [
    'a prefix covers no read of its folder without the slash',
    stanza('secret/*', 'read'),
    'read',
    'secret',
    false,
  ],
  ['a segment may be empty in a list', stanza('foo/+', 'list'), 'list', 'foo/', true],
  ['a prefix behind a segment, no slash', stanza('+/*', 'read'), 'read', 'foo', false],
  ['a prefix behind a segment, nothing behind the slash', stanza('+/*', 'read'), 'read', 'foo/', true],
  ['one segment', stanza('+', 'read'), 'read', 'foo', true],
  ['one segment, two given', stanza('+', 'read'), 'read', 'foo/x', false],
  ['a star alone covers everything', stanza('*', 'read'), 'read', 'x/y/z', true],
  ['prefixes within prefixes', folders, 'list', 'foo/', false],
  ['prefixes within prefixes', folders, 'list', 'foo/metadata/', true],
  ['prefixes within prefixes', folders, 'list', 'foo/metadata/test/', true],
  ['prefixes within prefixes', folders, 'list', 'foo/metadata/private/', false],
  ['prefixes within prefixes', folders, 'scan', 'foo/metadata/private/', false],
  ['prefixes within prefixes', folders, 'list', 'foo/metadata/private/internal/', false],
  ['prefixes within prefixes', folders, 'list', 'foo/metadata/private/granted/', true],
  ['prefixes within prefixes', folders, 'scan', 'foo/metadata/private/granted/test/', true],
  ['a segment in the middle', stanza('auth/+/login', 'update'), 'update', 'auth/my-jwt/login', true],
  ['a segment in the middle, two given', stanza('auth/+/login', 'update'), 'update', 'auth/a/b/login', false],
  ['a plus at the end of a segment is not a wildcard', stanza('foo+/bar', 'read'), 'read', 'fooX/bar', false],
  ['a plus at the end of a segment is a character', stanza('foo+/bar', 'read'), 'read', 'foo+/bar', true],
  ['a star in the middle is not a wildcard', stanza('a/*/b', 'read'), 'read', 'a/x/b', false],
  ['a star in the middle is a character', stanza('a/*/b', 'read'), 'read', 'a/*/b', true],
  ['a plus at the start of a segment is a character', stanza('a/+x/b', 'read'), 'read', 'a/+x/b', true],
  ['a plus at the start of a segment is not a wildcard', stanza('a/+x/b', 'read'), 'read', 'a/zx/b', false],
  ['a leading slash does not count', stanza('/foo/bar', 'read'), 'read', 'foo/bar', true],
  ['a trailing slash counts', stanza('foo/bar/', 'read'), 'read', 'foo/bar', false],
  ['deny ends the other capabilities', stanza('a', 'sudo', 'deny', 'read'), 'read', 'a', false],
  [
    'an exact rule without capabilities denies',
    stanza('secret/*', 'read') + stanza('secret/x'),
    'read',
    'secret/x',
    false,
  ],
  [
    'an exact rule without capabilities denies nothing beside it',
    stanza('secret/*', 'read') + stanza('secret/x'),
    'read',
    'secret/y',
    true,
  ],
  ['update does not create', stanza('auth/jwt/role/*', 'update'), 'create', 'auth/jwt/role/x', false],
  ['update updates', stanza('auth/jwt/role/*', 'update'), 'update', 'auth/jwt/role/x', true],
  ['create creates', stanza('auth/jwt/role/*', 'create'), 'create', 'auth/jwt/role/x', true],
  ['create does not update', stanza('auth/jwt/role/*', 'create'), 'update', 'auth/jwt/role/x', false],
  [
    'a deny of any segment, without the slash',
    stanza('a/*', 'list') + stanza('a/+', 'deny'),
    'list',
    'a/b',
    false,
  ],
  [
    'a deny of any segment, with the slash',
    stanza('a/*', 'list') + stanza('a/+', 'deny'),
    'list',
    'a/b/',
    false,
  ],
  ['a deny of any segment, scanned', stanza('a/*', 'scan') + stanza('a/+', 'deny'), 'scan', 'a/b/', false],
  [
    'a deny of any segment, one level below it',
    stanza('a/*', 'list') + stanza('a/+', 'deny'),
    'list',
    'a/b/c/',
    true,
  ],
  [
    'a deny of any segment, and one above it',
    stanza('a/*', 'list') + stanza('a/+', 'deny'),
    'list',
    'a/',
    false,
  ],
  [
    'a deny of any segment that ends in a slash',
    stanza('a/*', 'list') + stanza('a/+/', 'deny'),
    'list',
    'a/b',
    false,
  ],
  [
    'a deny of any segment, beside an open rule as near',
    stanza('a/+/*', 'list') + stanza('a/+', 'deny'),
    'list',
    'a/b/',
    false,
  ],
  ['a deny in the middle', stanza('a/*', 'list') + stanza('a/+/c', 'deny'), 'list', 'a/b/c/', false],
  [
    'a nearer rule beats a deny of any segment',
    stanza('a/b/*', 'list') + stanza('a/+', 'deny'),
    'list',
    'a/b/',
    true,
  ],
  [
    'an exact rule beats a deny of any segment',
    stanza('a/b', 'list') + stanza('a/+', 'deny'),
    'list',
    'a/b/',
    true,
  ],
  [
    'a segment without the slash gives no list where a prefix decides',
    stanza('cloud/*', 'read') + stanza('cloud/+', 'list'),
    'list',
    'cloud/roles/',
    false,
  ],
  [
    'a segment with the slash decides about a list',
    stanza('cloud/*', 'read') + stanza('cloud/+/', 'list'),
    'list',
    'cloud/roles/',
    true,
  ],
  [
    'an exact rule beats the deny of a prefix',
    stanza('cloud/*', 'deny') + stanza('cloud/roles', 'list'),
    'list',
    'cloud/roles/',
    true,
  ],
  ['a blank in a path', stanza('cloud/a b', 'read'), 'read', 'cloud/a b', true],
  ['a blank is not a plus', stanza('cloud/a b', 'read'), 'read', 'cloud/a+b', false],
  ['case of the path', stanza('Foo/bar', 'read'), 'read', 'foo/bar', false],
  ['sudo alone', stanza('a', 'sudo'), 'update', 'a', false],
  ['words of newer servers', stanza('a', 'subscribe', 'recover'), 'read', 'a', false],
  [
    'a deny on an earlier wildcard',
    stanza('c/+/prod', 'deny') + stanza('c/creds/*', 'read'),
    'read',
    'c/creds/prod',
    true,
  ],
  [
    'a prefix is not a rule for its own star',
    stanza('pre*', 'read') + stanza('pre/*', 'deny'),
    'read',
    'pre/*',
    false,
  ],
])('%s: %s: %s of %s is %j', (_name, text, operation, path, allowed) => {
  expect(can(aclOf(text), operation, path)).toBe(allowed)
})

test.each([
  ['without sudo', ['list'], { allowed: true, sudo: false }],
  ['with sudo', ['list', 'sudo'], { allowed: true, sudo: true }],
])('the decision on a root-protected path tells of sudo: %s', (_name, capabilities, decision) => {
  const acl = aclOf(stanza('auth/token/accessors', ...capabilities))

  expect(acl.decide({ operation: 'list', path: 'auth/token/accessors/' })).toEqual(decision)
})

test.each([
  ['a', 'deny', ['deny']],
  ['b', 'read', ['list', 'read']],
  ['c', 'write', ['create', 'delete', 'list', 'read', 'update']],
  ['d', 'sudo', ['create', 'delete', 'list', 'read', 'sudo', 'update']],
])('the old word %s: %s', (path, word, expected) => {
  expect(aclOf(`path "${path}" { policy = "${word}" }`).capabilities(path)).toEqual(expected)
})

test('stanzas of one path add up across policies, deny overrides them, and a leading slash names the same path', () => {
  const acl = aclOf(
    stanza('a', 'read') +
      stanza('a', 'update') +
      stanza('b', 'read') +
      stanza('b', 'deny') +
      stanza('b', 'list') +
      stanza('c/*', 'read'),
    stanza('a', 'delete') + stanza('/b', 'create') + stanza('c/+', 'update') + stanza('c/*', 'sudo'),
  )

  expect(acl.capabilities('a')).toEqual(['delete', 'read', 'update'])
  expect(acl.capabilities('b')).toEqual(['deny'])
  expect(acl.capabilities('c/x')).toEqual(['update'])
  expect(acl.capabilities('c/x/y')).toEqual(['read', 'sudo'])
})

test('a policy without rules permits help only', () => {
  expect(can(aclOf(''), 'help', 'x')).toBe(true)
  expect(can(aclOf(), 'read', 'x')).toBe(false)
})

test('root may do everything', () => {
  expect(rootAcl.decide({ operation: 'delete', path: 'sys/raw/x' })).toEqual({ allowed: true, sudo: true })
  expect(rootAcl.capabilities('anything')).toEqual(['root'])
  expect(rootAcl.resultant()).toEqual({ root: true })
  expect(rootAcl.mountAccess('secret/')).toBe(true)
})

test('the resultant ACL shows exact and prefix rules, with their parameters', () => {
  const acl = aclOf(
    `path "a/b" { capabilities = ["update", "read"] }
     path "c/*" { capabilities = ["list", "create"] }
     path "d/+/e" { capabilities = ["read"] }
     path "x" { capabilities = ["deny"] allowed_parameters = { "q" = [] } }
     path "y" {}
     path "p" {
       capabilities = ["patch", "update", "read"]
       allowed_parameters = { "q" = ["1", 2, { k = [true] }] }
       denied_parameters = { "D" = [] }
       required_parameters = ["R"]
       min_wrapping_ttl = 10
       max_wrapping_ttl = "1m"
     }`,
    stanza('a/b', 'sudo'),
  )

  expect(JSON.parse(JSON.stringify(acl.resultant()))).toEqual({
    root: false,
    exact_paths: {
      'a/b': { capabilities: ['read', 'sudo', 'update'] },
      p: {
        capabilities: ['read', 'update', 'patch'],
        allowed_parameters: { q: ['1', 2, { k: [true] }] },
        denied_parameters: { d: [] },
        required_parameters: ['R'],
        min_wrapping_ttl: 10,
        max_wrapping_ttl: 60,
      },
      x: { capabilities: ['deny'] },
      y: { capabilities: ['deny'] },
    },
    glob_paths: { 'c/': { capabilities: ['create', 'list'] } },
  })
})

test('the resultant ACL shows merged rules of the caller instead of the shared ones', () => {
  const policies = [parsePolicy(stanza('u/bob', 'read') + stanza('u/{{identity.entity.name}}', 'update'))]
  const acl = buildAcl(policies, { entity: { id: '1', name: 'bob', aliases: [] }, now: 0 })

  expect(JSON.parse(JSON.stringify(acl.resultant()))).toEqual({
    root: false,
    exact_paths: { 'u/bob': { capabilities: ['read', 'update'] } },
    glob_paths: {},
  })
})

test.each<[string, boolean]>([
  [stanza('jwt/*', 'read'), true],
  [stanza('*', 'read'), true],
  [stanza('jwt', 'list'), true],
  [stanza('jwt/role/x', 'create'), true],
  [stanza('jwt/role/*', 'sudo'), true],
  [stanza('+/role/x', 'read'), true],
  [stanza('jwt/+', 'read'), true],
  [stanza('+', 'read'), true],
  [stanza('+/x', 'deny'), false],
  [stanza('jwt/role/*', 'deny'), false],
  [stanza('jwt/role', 'deny') + stanza('jwt/role/x', 'read'), true],
  [stanza('*', 'read') + stanza('jwt/*', 'deny'), false],
  [stanza('jwt/x'), false],
  [stanza('jwt2/*', 'read') + stanza('jw', 'read') + stanza('other/+/x', 'read'), false],
  [stanza('+/+/*', 'read'), true],
])('rights at or below the mount jwt/: %s is %j', (text, expected) => {
  expect(aclOf(text).mountAccess('jwt/')).toBe(expected)
})

test('a glob that ends within the mount path also covers everything below the mount', () => {
  expect(aclOf(stanza('+/j*', 'read')).mountAccess('auth/jwt/')).toBe(true)
  expect(aclOf(stanza('+/k*', 'read')).mountAccess('auth/jwt/')).toBe(false)
})

const both: AclOperation[] = ['create', 'update']

type Fields = Record<string, unknown>
type ParameterRow = [name: string, rule: string, fields: Fields, allowed: boolean, wrap?: number]

const wrap = 'min_wrapping_ttl = 300 max_wrapping_ttl = "400s"'
const b2 = `denied_parameters = { zap = [] } ${wrap}`
const b4 = 'allowed_parameters = { hello = [] } denied_parameters = { zap = [] } min_wrapping_ttl = 300'
const b17 = 'denied_parameters = { deny = ["bad*"] }'
const b18 = 'allowed_parameters = { ALLOW = ["good"] } denied_parameters = { dEny = ["bad"] }'
const b19 = 'allowed_parameters = { m = ["good", "good1", "good2", "*good3"], allow = ["good"] }'
const b22 = 'allowed_parameters = { "*" = [], bar = [false] }'

const parameterRows: ParameterRow[] = [
  ['an allowed name', 'allowed_parameters = { zip = [] }', { zip: '' }, true],
  ['a denied name, not wrapped', b2, { zap: '1' }, false],
  ['not wrapped', b2, { zip: '1' }, false],
  ['wrapped too briefly', b2, { zip: '1' }, false, 50],
  ['wrapped too long', b2, { zip: '1' }, false, 450],
  ['wrapped', b2, { zip: '1' }, true, 350],
  ['wrapped as briefly as may be', b2, { zip: '1' }, true, 300],
  ['wrapped as long as may be', b2, { zip: '1' }, true, 400],
  ['a denied name in the right wrapping', b2, { zap: '1' }, false, 350],
  ['an allowed name, not wrapped', b4, { hello: '1' }, false],
  ['an allowed name, wrapped too briefly', b4, { hello: '1' }, false, 50],
  ['an allowed name, wrapped', b4, { hello: '1' }, true, 450],
  ['a denied name beside an allowed one', b4, { zap: '1' }, false],
  [
    'one name allowed and denied',
    'allowed_parameters = { steve = [] } denied_parameters = { steve = [] }',
    { steve: '1' },
    false,
  ],
  ['only a greatest TTL, not wrapped', 'max_wrapping_ttl = 400', { x: '1' }, false],
  ['only a greatest TTL, wrapped too long', 'max_wrapping_ttl = 400', { x: '1' }, false, 450],
  ['only a greatest TTL, wrapped', 'max_wrapping_ttl = 400', { x: '1' }, true, 350],
  [
    'all allowed and all denied',
    'allowed_parameters = { "*" = [] } denied_parameters = { "*" = [] }',
    { one: '1' },
    false,
  ],
  [
    'all allowed but one',
    'allowed_parameters = { "*" = [] } denied_parameters = { foo = [] }',
    { one: '1' },
    true,
  ],
  [
    'all allowed but one, that one',
    'allowed_parameters = { "*" = [] } denied_parameters = { foo = [] }',
    { foo: '1' },
    false,
  ],
  [
    'all allowed but one, that one in capitals',
    'allowed_parameters = { "*" = [] } denied_parameters = { foo = [] }',
    { FOO: '1' },
    false,
  ],
  [
    'one allowed, all denied',
    'allowed_parameters = { pear = [] } denied_parameters = { "*" = [] }',
    { pear: '1' },
    false,
  ],
  ['empty maps allow everything', 'allowed_parameters = {} denied_parameters = {}', { four: '1' }, true],
  [
    'several denied',
    'allowed_parameters = { "*" = [] } denied_parameters = { soft = [] warm = [] kitty = [] }',
    { cold: '1', warm: '1', kitty: '1' },
    false,
  ],
  ['a required name is missing', 'required_parameters = ["foo"]', { cold: '1', warm: '1' }, false],
  ['a required name is there', 'required_parameters = ["foo"]', { cold: '1', foo: '1' }, true],
  ['a required name is there as null', 'required_parameters = ["foo"]', { foo: null }, true],
  [
    'a required name is compared in lower case, a sent one as it is',
    'required_parameters = ["Foo"]',
    { Foo: '1' },
    false,
  ],
  ['a required name is lower-cased', 'required_parameters = ["Foo"]', { foo: '1' }, true],
  ['an allowed value', 'allowed_parameters = { allow = ["good"] }', { allow: 'good' }, true],
  ['a value that is not allowed', 'allowed_parameters = { allow = ["good"] }', { allow: 'bad' }, false],
  ['a denied value', b17, { deny: 'bad' }, false],
  ['a denied value by its pattern', b17, { deny: 'bad glob' }, false],
  ['a value that is not denied', b17, { deny: 'good' }, true],
  ['null is not the denied value', b17, { deny: null }, true],
  ['another name is not denied', b17, { other: 'bad' }, true],
  ['an allowed name in capitals', b18, { aLLow: 'good' }, true],
  ['a name with a denied value is not an allowed name', b18, { deny: 'good' }, false],
  ['a name that is neither', b18, { Neither: 'bad' }, false],
  ['null is not the allowed value', b18, { allow: null }, false],
  ['one of several values', b19, { m: 'good2' }, true],
  ['a value without a star is compared whole', b19, { m: 'glob good2' }, false],
  ['a value that ends as its pattern does', b19, { m: 'glob good3' }, true],
  ['several names with their values', b19, { m: 'good1', allow: 'good' }, true],
  ['a map', 'allowed_parameters = { map = [{ good = "one" }] }', { map: { good: 'one' } }, true],
  ['another map', 'allowed_parameters = { map = [{ good = "one" }] }', { map: { bad: 'one' } }, false],
  [
    'a map, more than it',
    'allowed_parameters = { map = [{ good = "one" }] }',
    { map: { good: 'one', bad: 'one' } },
    false,
  ],
  [
    'a map, no pattern inside',
    'allowed_parameters = { map = [{ good = "o*" }] }',
    { map: { good: 'one' } },
    false,
  ],
  ['a boolean', 'allowed_parameters = { bool = [false] }', { bool: false }, true],
  ['the other boolean', 'allowed_parameters = { bool = [false] }', { bool: true }, false],
  ['a boolean as text', 'allowed_parameters = { bool = [false] }', { bool: 'false' }, false],
  ['any name, beside a restricted one', b22, { anything: true }, true],
  ['the restricted value', b22, { bar: false }, true],
  ['another than the restricted value', b22, { bar: true }, false],
  ['only a star, whatever stands behind it', 'allowed_parameters = { "*" = ["good"] }', { '*': 'bad' }, true],
  ['a lone star is not a pattern', 'allowed_parameters = { x = ["*"] }', { x: 'anything' }, false],
  ['a lone star is itself', 'allowed_parameters = { x = ["*"] }', { x: '*' }, true],
  ['nothing sent, one allowed', 'allowed_parameters = { x = [] }', {}, true],
  ['nothing sent, all denied', 'denied_parameters = { "*" = [] }', {}, true],
  ['both ends', 'allowed_parameters = { x = ["*good*"] }', { x: 'a good b' }, true],
  ['both ends, long', 'allowed_parameters = { x = ["*ababababc*"] }', { x: 'abababababababcab' }, true],
  [
    'both ends, long, not in',
    'allowed_parameters = { x = ["*ababababc*"] }',
    { x: 'abababababababab' },
    false,
  ],
  ['lists', 'allowed_parameters = { x = [["a", 1]] }', { x: ['a', 1] }, true],
  ['lists, order', 'allowed_parameters = { x = [["a", 1]] }', { x: [1, 'a'] }, false],
  ['a field of the prototype is not sent', 'required_parameters = ["constructor"]', { a: '1' }, false],
  [
    'braces in a value are text',
    'allowed_parameters = { x = ["{{identity.entity.name}}"] }',
    { x: '{{identity.entity.name}}' },
    true,
  ],
  [
    'names that differ in capitals, any value in one',
    'denied_parameters = { Foo = [] foo = ["b"] }',
    { foo: 'a' },
    false,
  ],
]

test.each(parameterRows)(
  'parameters, %s: %s with %j is %j (wrap %s)',
  (_name, rule, fields, allowed, wrapTtlSeconds) => {
    const acl = aclOf(`path "p" { capabilities = ["create", "update"] ${rule} }`)

    for (const operation of both)
      expect(acl.decide({ operation, path: 'p', fields, wrapTtlSeconds }).allowed).toBe(allowed)
  },
)

test.each([
  ['1', '1', true],
  ['1', '1.0', true],
  ['1', '10e-1', true],
  ['1.5', '1.50', true],
  ['0', '-0', true],
  ['007', '7', true],
  ['1', '2', false],
  ['9007199254740993', '9007199254740992', false],
  ['9007199254740993', '9007199254740993', true],
  ['1', '"1"', false],
  ['"1"', '1', false],
])('numbers are compared as numbers: %s in a policy and %s in a request is %j', (written, sent, allowed) => {
  const acl = aclOf(`path "p" { capabilities = ["update"] allowed_parameters = { n = [${written}] } }`)
  const fields = parseJson(Buffer.from(`{"n":${sent}}`), { maxStrings: 0, maxMemory: 0, maxDepth: 0 })

  expect(acl.decide({ operation: 'update', path: 'p', fields: { ...(fields as object) } }).allowed).toBe(
    allowed,
  )
})

type ListRow = [rule: string, values: [value: unknown, allowed: boolean][]]

const admin = 'denied_parameters = { policies = ["super-admin"] }'
const testing = 'allowed_parameters = { policies = ["test-*"] }'
const listRows: ListRow[] = [
  [admin, ['super-admin', 'Super-Admin', ' super-admin', 'default,super-admin'].map((sent) => [sent, false])],
  [admin, [['super-admin'], ['x', 'super-admin'], [' SUPER-ADMIN ']].map((sent) => [sent, false])],
  [admin, ['ｓuper-admin', 'super\u00ad-admin', 'x, \u200bsuper-admin'].map((sent) => [sent, false])],
  [admin, [['x'], [], 'super-admins', null, ''].map((sent) => [sent, true])],
  ['denied_parameters = { policies = ["*admin*"] }', [[['a', 'my-ADMIN-x'], false]]],
  [
    testing,
    ['test-a', ['test-a'], ['test-a', 'test-b'], 'test-a,test-b', 'Test-A', []].map((sent) => [sent, true]),
  ],
  [testing, ['test-a,admin', ['test-a', 'admin'], null, 'ｔest-a', { a: 1 }].map((sent) => [sent, false])],
  [
    'allowed_parameters = { policies = ["a", "b"] }',
    [
      ['A', true],
      [['b', 'a'], true],
      ['b, a', true],
      [['a', 'c'], false],
    ],
  ],
  ['allowed_parameters = { policies = ["Admin"] }', [['admin', true]]],
  [
    'allowed_parameters = { policies = ["a,b"] }',
    [
      ['a,b', true],
      ['a,c', false],
    ],
  ],
  [
    'allowed_parameters = { policies = [["a", "b"]] }',
    [
      [['a', 'b'], true],
      [['b', 'a'], false],
      [['a'], false],
    ],
  ],
  [
    'denied_parameters = { policies = ["5"] }',
    [
      [jsonNumber('5'), false],
      [[jsonNumber('5')], false],
    ],
  ],
]

test.each(
  listRows.flatMap(([rule, rows]) => rows.map(([value, allowed]) => [rule, value, allowed] as const)),
)('a rule about a list of names, %s: %j is %j', (rule, policies, allowed) => {
  const acl = aclOf(`path "p" { capabilities = ["update"] ${rule} }`)
  const request = { operation: 'update', path: 'p', fields: { policies } } as const

  expect(acl.decide({ ...request, readings: () => 'comma list' }).allowed).toBe(allowed)
})

type ReadingRow = [rule: string, reading: FieldReading | undefined, value: unknown, allowed: boolean]

test.each<ReadingRow>([
  ['allowed_parameters = { x = ["see *"] }', 'plain', 'see a, b', true],
  ['allowed_parameters = { x = ["see *"] }', 'list', 'see a, b', true],
  ['allowed_parameters = { x = ["see *"] }', 'comma list', 'see a, b', false],
  ['allowed_parameters = { x = ["see *"] }', undefined, 'see a, b', false],
  ['allowed_parameters = { x = ["y"] }', 'plain', ['y', 'y'], true],
  ['denied_parameters = { x = [5] }', 'plain', jsonNumber('5'), false],
  ['denied_parameters = { x = [5] }', 'plain', [jsonNumber('4'), jsonNumber('5')], false],
  ['denied_parameters = { x = [5] }', 'plain', '5', true],
  ['denied_parameters = { x = [5] }', 'comma list', '4, 5', false],
  ['allowed_parameters = { x = [5] }', 'comma list', [jsonNumber('5'), '5'], true],
  ['denied_parameters = { x = ["y"] }', 'plain', [' y'], true],
  ['denied_parameters = { x = ["y"] }', 'list', [' y'], false],
  ['denied_parameters = { x = ["y"] }', 'list', 'z,y', true],
  ['denied_parameters = { x = ["y"] }', undefined, 'z,y', false],
  ['denied_parameters = { x = ["y"] }', 'comma list', 'Y', true],
  ['denied_parameters = { x = ["1"] }', 'comma list', [true], false],
])('%s, of a field that is read as %s: %j is %j', (rule, reading, x, allowed) => {
  const acl = aclOf(`path "p" { capabilities = ["update"] ${rule} }`)
  const request = { operation: 'update', path: 'p', fields: { x } } as const

  expect(acl.decide({ ...request, readings: () => reading }).allowed).toBe(allowed)
})

test('null in a JSON policy is null in a request and nothing else', () => {
  const acl = aclOf('{"path": {"p": {"capabilities": ["update"], "allowed_parameters": {"x": [null]}}}}')

  expect(acl.decide({ operation: 'update', path: 'p', fields: { x: null } }).allowed).toBe(true)
  expect(acl.decide({ operation: 'update', path: 'p', fields: { x: '' } }).allowed).toBe(false)
})

test('a stanza without parameters does not lift the parameters of another one', () => {
  const acl = aclOf(
    'path "p" { capabilities = ["update"] allowed_parameters = { x = [] } }',
    stanza('p', 'update'),
  )

  expect(acl.decide({ operation: 'update', path: 'p', fields: { y: '1' } }).allowed).toBe(false)
})

test('delete and list ignore parameters', () => {
  const acl = aclOf(
    'path "p" { capabilities = ["delete", "list"] allowed_parameters = { x = [] } required_parameters = ["z"] }',
  )

  expect(acl.decide({ operation: 'delete', path: 'p', fields: { y: '1' } }).allowed).toBe(true)
  expect(acl.decide({ operation: 'list', path: 'p', fields: { y: '1' } }).allowed).toBe(true)
})

test.each<AclOperation>(['delete', 'list', 'scan', 'read', 'patch'])(
  'wrapping TTLs apply to %s too',
  (operation) => {
    const acl = aclOf(
      'path "p" { capabilities = ["delete", "list", "scan", "read", "patch"] min_wrapping_ttl = 10 }',
    )

    expect(acl.decide({ operation, path: 'p' }).allowed).toBe(false)
    expect(acl.decide({ operation, path: 'p', wrapTtlSeconds: 10 }).allowed).toBe(true)
  },
)

test('when two stanzas have wrapping TTLs, the smaller ones apply', () => {
  const acl = aclOf(
    'path "p" { capabilities = ["update"] min_wrapping_ttl = 100 max_wrapping_ttl = 300 }',
    'path "p" { capabilities = ["update"] min_wrapping_ttl = 50 max_wrapping_ttl = 200 }',
  )

  expect(acl.decide({ operation: 'update', path: 'p', wrapTtlSeconds: 250 }).allowed).toBe(false)
  expect(acl.decide({ operation: 'update', path: 'p', wrapTtlSeconds: 60 }).allowed).toBe(true)
})

test('a minimum wrapping TTL above the maximum, after merging, allows nothing', () => {
  const acl = aclOf(
    'path "p" { capabilities = ["update"] min_wrapping_ttl = 100 }',
    'path "p" { capabilities = ["update"] max_wrapping_ttl = 50 }',
  )

  for (const wrapTtlSeconds of [0, 40, 75, 120])
    expect(acl.decide({ operation: 'update', path: 'p', wrapTtlSeconds }).allowed).toBe(false)
})

test('the values of one parameter are joined, and an empty list still allows any value', () => {
  const acl = aclOf(
    'path "p" { allowed_parameters = { test = ["1", "2"] empty = [] } }',
    'path "p" { allowed_parameters = { test = ["3", "4"] empty = ["1"] } }',
  )

  expect(acl.resultant().exact_paths).toMatchObject({
    p: { allowed_parameters: { test: ['3', '4', '1', '2'], empty: [] } },
  })
})

test('required parameters of two stanzas are both required', () => {
  const acl = aclOf(
    'path "p" { capabilities = ["update"] required_parameters = ["x"] }',
    'path "p" { capabilities = ["update"] required_parameters = ["y"] }',
  )

  expect(acl.decide({ operation: 'update', path: 'p', fields: { x: '1' } }).allowed).toBe(false)
  expect(acl.decide({ operation: 'update', path: 'p', fields: { x: '1', y: '1' } }).allowed).toBe(true)
})
