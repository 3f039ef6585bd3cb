import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AuditFile, enableAuditFile } from '../../support/audit-file.ts'
import type { Json } from '../../support/client.ts'
import { type JwtDesk, openJwtDesk, written } from '../../support/jwt-desk.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const stack = new AsyncDisposableStack()
const parameterHeader = 'X-Vault-Inline-Auth-Parameter-jwt'
let desk: JwtDesk
let file: AuditFile
beforeAll(async () => {
  const folder = stack.use(await temporaryFolder())
  desk = stack.use(await openJwtDesk({ settings: { AUDIT_DIRS: folder.path } }))
  file = await enableAuditFile(desk.root, folder.file('audit.log'))
  for (const header of ['X-Shown', 'X-Vault-Inline-Auth-Path', parameterHeader])
    await written(desk.root, `sys/config/auditing/request-headers/${header}`, { hmac: false })
})
afterAll(() => stack.disposeAsync())

const during = (headers = desk.head(), path = 'kv/x') => file.during(() => desk.ask(path, headers))
const shapes = (entries: readonly Json[]) =>
  entries.map(({ type, request, error }) => [
    String(type),
    String(request?.path),
    error === undefined ? '' : String(error),
  ])
const told = '1 error occurred:\n\t* '

test('two pairs of entries have one request id, and the first says that it is inline', async () => {
  const jwt = desk.jwt()
  const entries = await during(desk.head({ jwt }))

  expect(shapes(entries)).toEqual([
    ['request', 'auth/jwt/login', ''],
    ['response', 'auth/jwt/login', ''],
    ['request', 'kv/x', ''],
    ['response', 'kv/x', ''],
  ])
  expect(new Set(entries.map(({ request }) => request?.id)).size).toBe(1)
  expect(entries.map(({ request }) => request?.['inline'])).toEqual([true, true, undefined, undefined])
  const [login, answer, request] = entries
  expect(login?.request).toMatchObject({
    operation: 'update',
    mount_type: 'jwt',
    data: { role: expect.stringMatching(/^hmac-sha256:/), jwt: expect.stringMatching(/^hmac-sha256:/) },
  })
  expect(answer?.response?.auth).toMatchObject({
    token_type: 'batch',
    display_name: 'jwt-joe',
    token_issue_time: expect.any(String),
  })
  expect(request?.auth).toMatchObject({
    token_type: 'batch',
    display_name: 'jwt-joe',
    policies: ['default', 'desk'],
    token_issue_time: expect.any(String),
    policy_results: { allowed: true },
  })
  expect(JSON.stringify(entries)).not.toMatch(/client_token|"accessor"/)
  expect(file.text()).not.toContain(jwt)
})

test('the id of the entries is that of the answer', async () => {
  const before = file.entries().length
  const { body } = await desk.ask('kv/x', desk.head({ role: 'nope' }))

  expect(
    file
      .entries()
      .slice(before)
      .map(({ request }) => request?.id),
  ).toEqual([body.request_id, body.request_id])
})

test('a refused login has the only pair', async () => {
  expect(shapes(await during(desk.head({ role: 'nope' })))).toEqual([
    ['request', 'auth/jwt/login', ''],
    ['response', 'auth/jwt/login', ''],
  ])
})

test('a path that is no login, or an operation that it does not have, too', async () => {
  const noLogin = await during({ ...desk.head(), 'X-Vault-Inline-Auth-Path': 'auth/nope/login' })
  const noRead = await during(desk.head({}, { 'X-Vault-Inline-Auth-Operation': 'read' }))

  expect(shapes(noLogin)).toEqual([
    ['request', 'auth/nope/login', 'permission denied'],
    ['response', 'auth/nope/login', `${told}permission denied\n\n`],
  ])
  expect(shapes(noRead).map(([type, path]) => [type, path])).toEqual([
    ['request', 'auth/jwt/login'],
    ['response', 'auth/jwt/login'],
  ])
})

test('headers that describe no login, and a limited one, have none', async () => {
  expect(await during({ ...desk.head(), 'X-Vault-Inline-Auth-Operation': 'x' })).toEqual([])
  await written(desk.root, 'sys/quotas/rate-limit/rule', { path: 'auth/jwt', rate: 1, interval: '10m' })
  await during()

  expect(await during()).toEqual([])
  await desk.root.delete('sys/quotas/rate-limit/rule')
})

test('a denied request has both pairs', async () => {
  expect(shapes(await during(desk.head(), 'sys/mounts'))).toEqual([
    ['request', 'auth/jwt/login', ''],
    ['response', 'auth/jwt/login', ''],
    ['request', 'sys/mounts', `${told}permission denied\n\n`],
    ['response', 'sys/mounts', `${told}permission denied\n\n`],
  ])
})

test('the headers of the login are shown with the login only, and parameters are hashed', async () => {
  const entries = await during(desk.head({}, { 'X-Shown': 'yes' }))

  const [login, , request] = entries.map((entry) => entry.request?.headers)
  expect(request).toEqual({ 'x-shown': ['yes'] })
  expect(login).toEqual({
    'x-shown': ['yes'],
    'x-vault-inline-auth-path': ['auth/jwt/login'],
    [parameterHeader.toLowerCase()]: [expect.stringMatching(/^hmac-sha256:/)],
  })
})
