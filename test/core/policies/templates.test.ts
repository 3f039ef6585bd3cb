import { expect, test } from 'vitest'
import { parsePolicy } from '../../../src/core/policies/policy.ts'
import type { TemplateContext } from '../../../src/core/policies/templates.ts'
import { buildAcl } from './build-acl.ts'

const now = Date.UTC(2026, 0, 1, 0, 0, 0, 250)
const seconds = Math.floor(now / 1000)

const bob: NonNullable<TemplateContext['entity']> = {
  id: 'e-1',
  name: 'bob',
  metadata: { team: 'blue', empty: '', 'a.b': 'dotted', star: 'x*', slash: 'a/b', plus: '+' },
  aliases: [
    {
      id: 'a-1',
      name: 'carl',
      mount_accessor: 'auth_jwt_1',
      metadata: { dept: 'd1' },
      custom_metadata: { site: 'here' },
    },
    { id: 'a-2', name: '', mount_accessor: 'auth_jwt_2', metadata: null },
  ],
}
const groups = [{ id: 'g-1', name: 'ops', metadata: { floor: '3' } }]

const aclOf = (text: string, context: Partial<TemplateContext> = {}) =>
  buildAcl([parsePolicy(text)], { entity: bob, groups, now, ...context })

test.each([
  ['identity.entity.id', 'e-1'],
  [' identity.entity.name ', 'bob'],
  ['identity.entity.metadata.team', 'blue'],
  ['identity.entity.metadata.a.b', 'dotted'],
  ['identity.entity.metadata.empty', ''],
  ['identity.entity.aliases.auth_jwt_1.id', 'a-1'],
  ['identity.entity.aliases.auth_jwt_1.name', 'carl'],
  ['identity.entity.aliases.auth_jwt_1.metadata.dept', 'd1'],
  ['identity.entity.aliases.auth_jwt_1.custom_metadata.site', 'here'],
  ['identity.groups.ids.g-1.name', 'ops'],
  ['identity.groups.ids.g-1.metadata.floor', '3'],
  ['identity.groups.names.ops.id', 'g-1'],
  ['identity.groups.names.ops.metadata.floor', '3'],
  ['time.now', String(seconds)],
  ['time.now.plus.1h', String(seconds + 3600)],
  ['time.now.minus.1m', String(seconds - 60)],
])('{{%s}} is %j', (name, value) => {
  const acl = aclOf(`path "x/{{${name}}}/y" { capabilities = ["read"] }`)

  expect(acl.capabilities(`x/${value}/y`)).toEqual(['read'])
})

test.each([
  'identity.entity.metadata.none',
  'identity.entity.metadata.constructor',
  'identity.entity.metadata',
  'identity.entity.metadata.star',
  'identity.entity.metadata.slash',
  'identity.entity.metadata.plus',
  'identity.entity.aliases.auth_jwt_9.name',
  'identity.entity.aliases.auth_jwt_2.name',
  'identity.entity.aliases.auth_jwt_2.metadata.dept',
  'identity.entity.aliases.auth_jwt_2.custom_metadata.site',
  'identity.entity.aliases.auth_jwt_1',
  'identity.entity.custom_metadata.site',
  'identity.groups.ids.g-2.name',
  'identity.groups.names.other.id',
  'identity.groups.names.ops',
  'no.such',
  'time.nowhere',
  'time.now.plus',
  'time.now.plus.x',
  'time.now.times.2',
  '',
])('{{%s}} drops its stanza and no other', (name) => {
  const acl = aclOf(
    `path "x/{{${name}}}*" { capabilities = ["read"] }\npath "plain" { capabilities = ["read"] }`,
  )

  for (const path of ['x/', 'x/x', 'x/a/b']) expect(acl.capabilities(path)).toEqual(['deny'])
  expect(acl.capabilities('plain')).toEqual(['read'])
})

const unsafe = [
  { why: 'a slash', value: 'a/b' },
  { why: 'a star', value: 'a*' },
  { why: 'a plus', value: '+' },
  { why: 'a segment of two dots', value: '..' },
]

test.each(unsafe)('$why in a value drops a rule that grants', ({ value }) => {
  const rules = 'path "x/{{identity.entity.metadata.v}}/y" { capabilities = ["read"] }'
  const acl = aclOf(`${rules} path "x/open" { capabilities = ["list"] }`, {
    entity: { ...bob, metadata: { v: value } },
  })

  for (const path of ['x/', 'x/y', 'x/a/y', `x/${value}/y`]) expect(acl.capabilities(path)).toEqual(['deny'])
  expect(acl.capabilities('x/open')).toEqual(['list'])
  expect(acl.unfilled).toEqual([])
})

test.each(unsafe.flatMap((row) => ['["deny"]', '[]'].map((capabilities) => ({ ...row, capabilities }))))(
  '$why in a value closes all that a rule with $capabilities could mean',
  ({ value, capabilities }) => {
    const denied = `path "x/own/{{identity.entity.metadata.v}}/*" { capabilities = ${capabilities} }`
    const acl = aclOf(`path "*" { capabilities = ["read", "list", "sudo"] } ${denied}`, {
      entity: { ...bob, metadata: { v: value } },
    })

    for (const path of ['x/own/', 'x/own/a', 'x/own/a/b', `x/own/${value}/b`]) {
      expect(acl.capabilities(path)).toEqual(['deny'])
      for (const operation of ['read', 'list'] as const)
        expect(acl.decide({ operation, path })).toEqual({ allowed: false, sudo: false })
    }
    expect(acl.capabilities('x/own')).toEqual(['list', 'read', 'sudo'])
    expect(acl.mountAccess('x/own/a/')).toBe(false)
    expect(acl.unfilled).toEqual([{ name: 'p', namespace: 'root' }])
    expect(acl.resultant()).toMatchObject({ glob_paths: { 'x/own/': { capabilities: ['deny'] } } })
  },
)

test('what a rule could mean begins with its wildcards, and a list of it is closed too', () => {
  const entity = { ...bob, metadata: { v: 'a*' } }
  const all = 'path "*" { capabilities = ["read", "list"] }'
  const closed = (label: string) => aclOf(`${all} path "${label}" { policy = "deny" }`, { entity })
  const may = (label: string, path: string, operation: 'read' | 'list' = 'read') =>
    closed(label).decide({ operation, path }).allowed

  expect(may('s/+/{{identity.entity.metadata.v}}', 's/any/thing/deep')).toBe(false)
  expect(may('s/+/{{identity.entity.metadata.v}}', 's/any')).toBe(true)
  expect(may('s/{{identity.entity.metadata.v}}', 's', 'list')).toBe(false)
  expect(may('s/{{identity.entity.metadata.v}}', 's')).toBe(true)
  expect(may('{{identity.entity.metadata.v}}/s', 'anything')).toBe(false)
  expect(may('s/+{{identity.entity.metadata.v}}', 's/x')).toBe(false)
})

test('an unfilled denial closes every spelling of a name', () => {
  const canonicalize = (path: string) => path.toLowerCase()
  const entity = { ...bob, metadata: { v: 'a*' } }
  const denied = 'path "role/Ops-{{identity.entity.metadata.v}}" { policy = "deny" }'
  const acl = aclOf(`path "*" { capabilities = ["read"] } ${denied}`, { entity })

  expect(acl.decide({ operation: 'read', path: 'role/ops-1', canonicalize }).allowed).toBe(false)
  expect(acl.capabilities('role/OPS-1', canonicalize)).toEqual(['deny'])
})

test('several templates may stand in one path, and wildcards around them stay wildcards', () => {
  const acl = aclOf(
    'path "secret/{{identity.entity.name}}/*" { capabilities = ["read"] }\n' +
      'path "two/{{identity.entity.name}}/{{identity.entity.metadata.team}}" { capabilities = ["read"] }\n' +
      'path "+/{{identity.entity.metadata.team}}" { capabilities = ["list"] }',
  )

  expect(acl.capabilities('secret/bob/x')).toEqual(['read'])
  expect(acl.capabilities('secret/eve/x')).toEqual(['deny'])
  expect(acl.capabilities('two/bob/blue')).toEqual(['read'])
  expect(acl.capabilities('zz/blue')).toEqual(['list'])
})

test('a template drops its stanza when the name of the entity has a slash', () => {
  const acl = aclOf('path "secret/{{identity.entity.name}}/*" { capabilities = ["read"] }', {
    entity: { ...bob, name: 'a/b' },
  })

  expect(acl.capabilities('secret/a/b/x')).toEqual(['deny'])
})

test('a stanza for a group applies to its members only', () => {
  const text =
    'path "{{identity.groups.names.ops.id}}" { capabilities = ["read"] }\npath "plain" { capabilities = ["read"] }'

  expect(aclOf(text, { groups: [] }).capabilities('g-1')).toEqual(['deny'])
  expect(aclOf(text, { groups: [] }).capabilities('plain')).toEqual(['read'])
  expect(aclOf(text).capabilities('g-1')).toEqual(['read'])
})

test('without an entity every stanza with a template is dropped', () => {
  const acl = aclOf(
    'path "a/{{identity.entity.id}}" { capabilities = ["read"] }\npath "a/*" { capabilities = ["list"] }\n' +
      'path "{{identity.entity.name}}*" { capabilities = ["read"] }\npath "t/{{time.now}}" { capabilities = ["read"] }',
    { entity: undefined },
  )

  expect(acl.capabilities('a/')).toEqual(['list'])
  expect(acl.capabilities('zz')).toEqual(['deny'])
  expect(acl.capabilities(`t/${seconds}`)).toEqual(['deny'])
})

test('a resolved template is merged with the stanzas of its path, deny included', () => {
  const templated = 'path "u/{{identity.entity.name}}" { capabilities = ["update"] }\n'

  expect(aclOf(`${templated}path "u/bob" { capabilities = ["read"] }`).capabilities('u/bob')).toEqual([
    'read',
    'update',
  ])
  expect(aclOf(`${templated}path "u/bob" { policy = "deny" }`).capabilities('u/bob')).toEqual(['deny'])
})

test('a resolved template competes with all other rules', () => {
  const acl = aclOf(
    'path "u/{{identity.entity.name}}/*" { capabilities = ["update"] }\npath "u/bob/x/*" { capabilities = ["read"] }\npath "u/*" { capabilities = ["list"] }',
  )

  expect(acl.capabilities('u/bob/y')).toEqual(['update'])
  expect(acl.capabilities('u/bob/x/y')).toEqual(['read'])
  expect(acl.capabilities('u/eve')).toEqual(['list'])
})

test('an expired stanza does not exist', () => {
  const acl = aclOf(
    `path "a" { capabilities = ["read"] expiration = "2020-01-01T00:00:00Z" }
     path "b" { capabilities = ["read"] expiration = "2099-01-01T00:00:00Z" }
     path "c*" { capabilities = ["read"] }
     path "c" { capabilities = ["deny"] expiration = "2020-01-01T00:00:00Z" }`,
  )

  expect(acl.capabilities('a')).toEqual(['deny'])
  expect(acl.capabilities('b')).toEqual(['read'])
  expect(acl.capabilities('c')).toEqual(['read'])
})

test.each<[string, string, number | undefined]>([
  ['nothing depends on the time', 'path "a" {}', undefined],
  ['only what is over did', 'path "a" { expiration = "2020-01-01T00:00:00Z" }', undefined],
  [
    'the first end',
    'path "a" { expiration = "2099-01-01T00:00:00Z" }\npath "b" { expiration = "2027-01-01T00:00:00+01:00" }',
    Date.UTC(2026, 11, 31, 23),
  ],
  [
    'this second',
    'path "{{time.now.plus.1h}}" { expiration = "2099-01-01T00:00:00Z" }',
    (seconds + 1) * 1000,
  ],
  ['an entity does not age', 'path "{{identity.entity.id}}" {}', undefined],
])('an ACL tells how long it is valid: %s', (_name, text, expected) => {
  expect(aclOf(text).validUntil).toBe(expected)
})

test('a stanza no longer counts from the instant of its expiration', () => {
  const text = 'path "a" { capabilities = ["read"] expiration = "2026-01-01T00:00:01Z" }'
  const end = Date.UTC(2026, 0, 1, 0, 0, 1)

  expect(aclOf(text, { now: end - 1 }).capabilities('a')).toEqual(['read'])
  expect(aclOf(text, { now: end }).capabilities('a')).toEqual(['deny'])
})

test('a denial that cannot be filled also closes the canonical spelling alone', () => {
  const entity = { ...bob, name: 'b*b' }
  const acl = aclOf(
    `path "*" { capabilities = ["read"] } path "own/{{identity.entity.name}}/*" { capabilities = ["deny"] }`,
    { entity },
  )

  expect(acl.decide({ operation: 'read', path: 'other/x', canonicalPath: 'own/x' }).allowed).toBe(false)
  expect(acl.decide({ operation: 'read', path: 'other/x' }).allowed).toBe(true)
})
