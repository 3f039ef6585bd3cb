import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-server.ts'

const path = (text: string, capability = 'update') => `path "${text}" { capabilities = ["${capability}"] }`

async function startRoles() {
  const server = await startTestServer()
  const { root } = server
  await root.write('sys/auth/approle', { type: 'approle' })
  for (const role of ['a', 'b', 'c']) await root.write(`auth/approle/role/${role}`, {})
  const policy = (name: string, text: string) => root.write(`sys/policies/acl/${name}`, { policy: text })
  await policy('all', path('auth/+/role/+/secret-id'))
  await policy('one', path('auth/approle/role/b/custom-secret-id'))
  await policy('none', `${path('auth/approle/role/*', 'read')} ${path('auth/other/role/c/secret-id')}`)
  return server
}

const finding = (role: string, policies: string) => ({
  role,
  code: 'login_metadata_writable',
  field: 'metadata',
  text: `policies [${policies}] may make secret ids, and so choose the metadata of their logins`,
})

test('the linter names the roles whose secret ids a policy may make', async () => {
  await using server = await startRoles()
  const found = async (query = '') =>
    (await server.root.read(`auth/approle/lint${query}`)).body.data?.['findings']
  const before = [await found(), await found('?role=B'), await found('?role=none')]
  await server.root.delete('sys/policies/acl/all')

  expect(before).toEqual([
    [finding('a', 'all'), finding('b', 'all one'), finding('c', 'all')],
    [finding('b', 'all one')],
    [],
  ])
  expect(await found()).toEqual([finding('b', 'one')])
})

test('the linter shows nothing about roles that the caller may not read', async () => {
  await using server = await startRoles()
  const policy = `${path('auth/approle/*', 'read')} ${path('auth/approle/role/b', 'deny')}`
  await server.root.write('sys/policies/acl/lints', { policy })
  const { body } = await server.root.write('auth/token/create', { policies: ['lints'] })

  const lint = await server.as(String(body.auth?.client_token)).read('auth/approle/lint')

  expect(lint.body.data?.['findings']).toEqual([finding('a', 'all'), finding('c', 'all')])
})
