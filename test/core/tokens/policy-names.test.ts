import { expect, test } from 'vitest'
import { createdTokenName } from '../../../src/core/tokens/acts/create-token.ts'
import { loginTokenName } from '../../../src/core/tokens/acts/issue-login.ts'
import { childPolicies, joined, sanitize } from '../../../src/core/tokens/store/policy-names.ts'
import { loginTokenType } from '../../../src/core/tokens/store/token-type.ts'

test.each([
  { names: [], addDefault: true, is: ['default'] },
  { names: [], addDefault: false, is: [] },
  { names: ['b', 'A', 'a ', 'b'], addDefault: true, is: ['a', 'b', 'default'] },
  { names: ['', ' ', 'a'], addDefault: false, is: ['a'] },
  { names: ['x', ' ROOT '], addDefault: true, is: ['root'] },
  { names: ['a,b'], addDefault: false, is: ['a,b'] },
  { names: ['default', 'a'], addDefault: true, is: ['a', 'default'] },
])('sanitize($names, $addDefault) is $is', ({ names, addDefault, is }) => {
  expect(sanitize(names, addDefault)).toEqual(is)
})

test.each([
  { token: ['default', 'q'], identity: ['p'], is: ['default', 'p', 'q'] },
  { token: ['q'], identity: [], is: ['q'] },
  { token: [], identity: ['p', 'a'], is: ['a', 'p'] },
])('token $token and identity $identity are $is', ({ token, identity, is }) => {
  expect(joined(token, identity)).toEqual(is)
})

const root = { caller: ['root'], sudo: true }
const web = { caller: ['web'], sudo: false }
const defaultWeb = { caller: ['default', 'web'], sudo: false }
const sudo = { caller: ['default', 'web'], sudo: true }

test.each([
  { who: root, requested: [], is: ['root'] },
  { who: root, requested: ['web'], is: ['default', 'web'] },
  { who: root, requested: ['web'], without: true, is: ['web'] },
  { who: root, requested: ['b', 'A', 'a ', 'b'], is: ['a', 'b', 'default'] },
  { who: root, requested: ['x', 'ROOT'], is: ['root'] },
  { who: root, requested: ['a,b'], is: ['a,b', 'default'] },
  { who: defaultWeb, requested: [], is: ['default', 'web'] },
  { who: web, requested: [], is: ['web'] },
  { who: web, requested: ['web'], is: ['web'] },
  { who: defaultWeb, requested: ['web'], is: ['default', 'web'] },
  { who: defaultWeb, requested: [], without: true, is: ['web'] },
  { who: sudo, requested: ['db'], is: ['db', 'default'] },
  { who: root, requested: ['default'], without: true, is: [] },
  { who: root, requested: [''], is: ['default'] },
  { who: web, requested: [' WEB '], is: ['web'] },
])('$who asking for $requested gives $is', ({ who, requested, without = false, is }) => {
  expect(childPolicies({ ...who, requested, noDefaultPolicy: without, inherits: true })).toEqual(is)
})

test.each([
  { who: web, requested: ['db'] },
  { who: web, requested: ['web', 'db'] },
  { who: web, requested: ['default'] },
  { who: web, requested: ['root', 'web'] },
])('$requested is more than the caller has', ({ who, requested }) => {
  expect(() => childPolicies({ ...who, requested, noDefaultPolicy: false, inherits: true })).toThrow(
    'child policies must be subset of parent',
  )
})

test.each([
  { mount: 'service', types: ['service', 'service', 'service', 'service'] },
  { mount: 'batch', types: ['batch', 'batch', 'batch', 'batch'] },
  { mount: undefined, types: ['service', 'service', 'service', 'batch'] },
  { mount: 'default', types: ['service', 'service', 'service', 'batch'] },
  { mount: 'default-service', types: ['service', 'service', 'service', 'batch'] },
  { mount: 'default-batch', types: ['batch', 'batch', 'service', 'batch'] },
])('a mount tuned to $mount gives roles "", default, service, batch the types $types', ({ mount, types }) => {
  expect(
    ['', 'default', 'service', 'batch'].map((tokenType) =>
      loginTokenType(mount, { tokenType, numUses: 0, period: 0 }),
    ),
  ).toEqual(types)
})

test.each([
  ['', 'token'],
  ['ci', 'token-ci'],
  ['foo_bar.baz!', 'token-foo-bar-baz'],
  ['x-', 'token-x'],
  ['--', 'token--'],
  ['ä', 'token-'],
  ['😀b', 'token--b'],
])('a token created with display name %j is called %j', (given, name) => {
  expect(createdTokenName(given)).toBe(name)
})

test.each([
  ['auth/jwt/', 'alice', 'jwt-alice'],
  ['auth/team/ci/', 'repo:x', 'team-ci-repo:x'],
  ['auth/jwt/', '', 'jwt'],
  ['auth/jwt/', 'a-', 'jwt-a'],
])('a login at %j as %j is called %j', (path, name, display) => {
  expect(loginTokenName(path, name)).toBe(display)
})
