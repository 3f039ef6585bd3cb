import { expect, test } from 'vitest'
import { rootAcl } from '../../../src/core/policies/acl.ts'
import { parsePolicy, policyBelow } from '../../../src/core/policies/policy.ts'
import { noRights, RelativeAcl } from '../../../src/core/policies/relative-acl.ts'
import { buildAcl } from './build-acl.ts'

const policy = parsePolicy(`
path "ns1/auth/jwt/role/*" { capabilities = ["read", "sudo"] }
path "ns1/sys/auth" { capabilities = ["read"] }
path "ns1/+/secret" { capabilities = ["read"] }
path "ns1/closed/*" { capabilities = ["deny"] }
path "ns*" { capabilities = ["list"] }
path "sys/mounts" { capabilities = ["read"] }
`)
const acl = new RelativeAcl(buildAcl([policy], { now: 0 }), 'ns1/')

test.each([
  { path: 'auth/jwt/role/a', rights: ['read', 'sudo'] },
  { path: 'sys/auth', rights: ['read'] },
  { path: 'x/secret', rights: ['read'] },
  { path: 'closed/x', rights: ['deny'] },
  { path: 'anything', rights: ['list'] },
  { path: 'sys/mounts', rights: ['list'] },
])('seen from ns1, $path has $rights', ({ path, rights }) => {
  expect(acl.capabilities(path)).toEqual(rights)
  expect(acl.decide({ operation: 'read', path }).allowed).toBe(rights.includes('read'))
})

test('denials, mounts and the rights as a whole are relative too', () => {
  expect(acl.decide({ operation: 'list', path: 'anything', canonicalPath: 'closed/x' }).allowed).toBe(false)
  expect(acl.decide({ operation: 'list', path: 'anything', canonicalPath: 'ns1/closed/x' }).allowed).toBe(
    true,
  )
  expect(acl.mountAccess('auth/jwt/')).toBe(true)
  expect(JSON.parse(JSON.stringify(acl.resultant()))).toEqual({
    root: false,
    exact_paths: { 'sys/auth': { capabilities: ['read'] } },
    glob_paths: {
      'auth/jwt/role/': { capabilities: ['read', 'sudo'] },
      'closed/': { capabilities: ['deny'] },
      '': { capabilities: ['list'] },
    },
  })
  expect(new RelativeAcl(rootAcl, 'ns1/').resultant()).toEqual({ root: true })
})

test('a token has no rights in sibling or parent namespaces', () => {
  expect(noRights.decide({ operation: 'read', path: 'auth/token/lookup-self' })).toEqual({
    allowed: false,
    sudo: false,
  })
  expect(noRights.capabilities('x')).toEqual(['deny'])
  expect(noRights.mountAccess('x/')).toBe(false)
})

test('a policy of a child namespace grants rights there only, and sees only the groups of that namespace', () => {
  const theirs = policyBelow(
    parsePolicy(`
path "x" { capabilities = ["read"] }
path "y/+/z*" { capabilities = ["read"] }
path "g/{{identity.groups.names.admins.id}}" { capabilities = ["read"] }
`),
    { prefix: 'ns1/', namespace: 'abc123' },
  )
  const entity = { id: 'e', name: 'e', aliases: [] }
  const context = { entity, groups: [{ id: 'ours', name: 'admins' }], now: 0 }
  const without = buildAcl([theirs], context)
  const withTheirs = buildAcl([theirs], {
    ...context,
    groupsOf: (id: string) => (id === 'abc123' ? [{ id: 'theirs', name: 'admins' }] : undefined),
  })

  expect(['x', 'ns1/x', 'ns1/y/1/zz', 'y/1/zz'].map((path) => without.capabilities(path))).toEqual([
    ['deny'],
    ['read'],
    ['read'],
    ['deny'],
  ])
  expect(['ns1/g/ours', 'ns1/g/theirs'].map((path) => without.capabilities(path))).toEqual([
    ['deny'],
    ['deny'],
  ])
  expect(['ns1/g/ours', 'ns1/g/theirs', 'g/theirs'].map((path) => withTheirs.capabilities(path))).toEqual([
    ['deny'],
    ['read'],
    ['deny'],
  ])
})
