import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

// Someone who may do everything but with the things named here asks for each of them in any spelling that
// might mean it.

const things = [
  'auth/jwt/role/kept',
  'auth/token/roles/kept',
  'cubbyhole/kept',
  'identity/entity/name/kept',
  'identity/group/name/kept',
  'identity/oidc/key/kept',
  'identity/oidc/role/kept',
  'sys/auth/kept',
  'sys/auth/kept/tune',
  'sys/internal/counters/entities',
  'sys/mounts/auth/kept',
  'sys/mounts/kept',
  'sys/mounts/kept/tune',
  'outer/sys/namespaces/kept',
  'sys/policies/acl/kept',
  'sys/policy/kept',
]
const folders = [
  'auth/jwt/role',
  'auth/token/roles',
  'cubbyhole',
  'identity/entity/name',
  'identity/oidc/key',
  'sys/namespaces',
  'sys/policies/acl',
]
const rule = (path: string, ...capabilities: string[]) =>
  `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }\n`

let server: TestServer
let caller: Client

beforeAll(async () => {
  server = await startTestServer()
  const { root } = server
  const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }
  const made = [
    await root.write('auth/jwt/role/kept', role),
    await root.write('auth/token/roles/kept', {}),
    await root.write('identity/entity', { name: 'kept' }),
    await root.write('identity/group', { name: 'kept' }),
    await root.write('identity/oidc/key/kept', {}),
    await root.write('identity/oidc/role/kept', { key: 'kept' }),
    await root.write('sys/auth/kept', { type: 'jwt' }),
    await root.write('sys/mounts/kept-too', { type: 'cloud' }),
    await root.write('sys/mounts/kept', { type: 'cloud' }),
    await root.write('sys/policies/acl/kept', { policy: 'path "x" {}' }),
  ]
  // a namespace cannot have the name of a secrets mount, so it has its own parent
  await root.write('sys/namespaces/outer')
  await root.write('sys/namespaces/kept', {}, { headers: { 'X-Vault-Namespace': 'outer' } })
  for (const { status, text } of made) if (status >= 300) throw new Error(text)
  const denials = [
    ...things,
    ...folders,
    ...things.map((path) => `outer/${path}`),
    ...folders.map((path) => `outer/${path}`),
  ]
  const everything = rule('*', 'create', 'read', 'update', 'delete', 'list', 'sudo', 'patch', 'scan')
  expect(
    (
      await root.write('sys/policies/acl/all-but', {
        policy: everything + denials.map((path) => rule(path, 'deny')).join(''),
      })
    ).status,
  ).toBe(204)
  const { body } = await root.write('auth/token/create', { policies: ['all-but'] })
  caller = server.as(String(body.auth?.client_token))
  await caller.write('cubbyhole/kept', { a: '1' })
})
afterAll(() => server[Symbol.asyncDispose]())

const swapCase = (text: string) => (text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase())
const escaped = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

const often = (plain: string, ...others: string[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(plain) },
    { weight: others.length, arbitrary: fc.constantFrom(...others) },
  )

/** Changes to a few characters of the last segments, and texts inserted between, before and after them. */
const mangling = fc.record({
  marks: fc.array(fc.record({ at: fc.nat(30), mark: fc.constantFrom('escape', 'case') }), { maxLength: 3 }),
  between: fc.array(often('/', '%2F', '%2f', '/%2F', '%2F/', '//', '/./', '/%2e/', '/x/../', '%5C'), {
    minLength: 6,
    maxLength: 6,
  }),
  before: often('', '/', '%2F', '%2F%2F', 'v1/', './', 'outer/', 'outer/../', 'outer%2F'),
  after: fc.constantFrom(
    '',
    '',
    '',
    '/',
    '%2F',
    '%2F%2F',
    '/%2F',
    '/x',
    '%20',
    '%20/',
    '/.',
    '/%2e',
    '?list=false',
    '%3F',
    ';',
    '%C2%A0',
    '.',
    '*',
    '+',
  ),
  header: often('', 'outer', '/outer//', 'outer/../outer', 'root'),
})
type Mangling = typeof mangling extends fc.Arbitrary<infer T> ? T : never

function mangled(path: string, { marks, between, before, after }: Mangling): string {
  const characters = [...path]
  for (const { at, mark } of marks) {
    const index = characters.length - 1 - (at % characters.length)
    const character = characters[index] ?? ''
    if (/^[a-z]$/i.test(character))
      characters[index] = mark === 'escape' ? escaped(character) : swapCase(character)
  }
  const [first = '', ...rest] = characters.join('').split('/')
  return (
    before +
    rest.reduce((whole, segment, number) => whole + (between[number] ?? '/') + segment, first) +
    after
  )
}

test('what a rule denies is denied in every spelling that would reach it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(
        ...things.map((path) => ({ path, list: false })),
        ...folders.map((path) => ({ path, list: true })),
      ),
      mangling,
      async (thing, how) => {
        const asked = mangled(thing.path, how)
        const options = how.header === '' ? {} : { headers: { 'X-Vault-Namespace': how.header } }
        const verb = thing.list ? 'LIST' : 'GET'

        const answer = await caller.call(verb, asked, undefined, options)

        expect(answer.status, `${verb} ${asked} ${answer.text}`).toBeGreaterThanOrEqual(300)
      },
    ),
    { numRuns: 250 * rounds },
  )
})

test('the rules deny what they name, and nothing else', async () => {
  for (const path of things) expect((await caller.read(path)).status, path).toBe(403)
  for (const path of folders) expect((await caller.call('LIST', path)).status, path).toBe(403)
  expect((await caller.read('sys/mounts/kept-too')).status).toBe(200)
  expect((await caller.call('LIST', 'identity/group/name')).status).toBe(200)
})
