import { expect, test } from 'vitest'
import type { Answer } from '../../../support/client.ts'
import { type Headers, inlineLogin, outcomeOf, written } from '../../../support/jwt-desk.ts'
import { shared } from '../../../support/shared.ts'
import { now, openDesk } from './desk.ts'

const openReaders = async () => {
  const desk = await openDesk()
  const { root, server, jwt, write } = desk
  await written(root, 'sys/mounts/kv', { type: 'kv', options: { version: '1' } })
  await written(root, 'kv/x', { a: '1' })
  await written(root, 'sys/policies/acl/read', { policy: 'path "kv/*" { capabilities = ["read"] }' })
  const person = 'alias: logical.Alias{name: claims.sub}'
  await write('readers', {
    expression: `claims.sub == "joe" ? pb.Auth{policies: ["read"], ${person}} : "only joe"`,
  })
  await write('nobody', { expression: 'pb.Auth{policies: ["read"]}' })
  await write('unnamed', { expression: 'pb.Auth{alias: logical.Alias{name: ""}}' })
  await write('unnamed-group', { expression: `pb.Auth{${person}, group_aliases: [logical.Alias{name: ""}]}` })
  await write('once', { expression: `pb.Auth{policies: ["read"], num_uses: 1, ${person}}` })
  await write('operation', { expression: 'operation' })
  const ask = (role: string, claims = {}, more: Headers = {}, path = 'kv/x'): Promise<Answer> =>
    server.anonymous.read(path, {
      headers: inlineLogin('auth/jwt/cel/login', { role, jwt: jwt(claims) }, more),
    })
  return { ...desk, ask }
}
const readers = shared(openReaders)
const blocked = (role: string, text: string) =>
  `error executing cel program: CEL role '${role}' blocked authorization with message: ${text}`

test('a program decides about a login in the headers of a request, whose caller has what it gives', async () => {
  const { ask } = await readers()

  expect((await ask('readers')).body.data).toEqual({ a: '1' })
  expect((await ask('Readers')).status).toBe(200)
  expect((await ask('nobody')).status).toBe(200)
  expect((await ask('once')).status).toBe(200)
  expect(outcomeOf(await ask('readers', {}, {}, 'sys/mounts'))).toEqual([
    403,
    '1 error occurred:\n\t* permission denied\n\n',
    false,
  ])
  expect((await ask('readers', {}, {}, 'auth/token/lookup-self')).body.data).toMatchObject({
    id: '',
    accessor: '',
    type: 'batch',
    path: 'auth/jwt/cel/login',
    policies: ['default', 'read'],
    entity_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  expect((await ask('nobody', {}, {}, 'auth/token/lookup-self')).body.data?.entity_id).toBe('')
})

const prefix = 'failed to perform inline authentication: '
test.each<[string, Record<string, unknown>, string]>([
  ['readers', { sub: 'eve' }, blocked('readers', 'only joe')],
  ['readers', { exp: now(-100) }, 'token is expired'],
  ['nope', {}, 'role "nope" could not be found'],
  ['unnamed', {}, `${prefix}missing name in alias`],
  ['unnamed-group', {}, `${prefix}missing alias name`],
])('role %s refuses the login with %o in its own words', async (role, claims, text) => {
  const { ask } = await readers()
  const [status, error, hasFailed] = outcomeOf(await ask(role, claims))

  expect([status, hasFailed]).toEqual([400, true])
  expect(error).toContain(text)
})

test('a program sees an update, whatever the headers say', async () => {
  const { ask, login } = await readers()
  const seen = async (operation: string) =>
    outcomeOf(await ask('operation', {}, { 'X-Vault-Inline-Auth-Operation': operation }))[1]

  expect(await seen('create')).toBe(blocked('operation', 'update'))
  expect(await seen('update')).toBe(blocked('operation', 'update'))
  expect(await seen('read')).toBe(`${prefix}unsupported operation`)
  expect((await login('operation')).body.errors?.[0]).toBe(blocked('operation', 'update'))
})
