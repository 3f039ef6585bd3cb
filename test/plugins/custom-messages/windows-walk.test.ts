import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AuditFile, enableAuditFile } from '../../support/audit-file.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { messagesPath, plain } from './message-fixture.ts'

const stack = new AsyncDisposableStack()
let server: TestServer
let audit: AuditFile
/** Verb and path of each operation of the API document. */
let operations: string[]

beforeAll(async () => {
  const folder = stack.use(await temporaryFolder())
  server = stack.use(await startTestServer({ settings: { AUDIT_DIRS: folder.path } }))
  const { root } = server
  for (const type of ['userpass', 'approle', 'kubernetes']) await root.write(`sys/auth/${type}`, { type })
  await root.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
  await root.write('sys/mounts/first', { type: 'kv' })
  const { paths } = (await root.read('sys/internal/specs/openapi')).body
  operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((verb) => /^(?:get|post|patch|delete)$/.test(verb))
      .map((verb) => `${verb.toUpperCase()} ${path}`)
      .filter((operation) => !left.test(operation)),
  )
  audit = await enableAuditFile(root, folder.file('audit.log'))
})
afterAll(() => stack.disposeAsync())

const mergePatch = { 'content-type': 'application/merge-patch+json' }
const refusalOf = async (operation: string, headers = {}) => {
  const [verb = '', path = ''] = operation.split(' ')
  const at = path.slice(1).replace(/\{\w*\}/g, 'x')
  const body = verb === 'GET' || verb === 'DELETE' ? undefined : {}
  const answer = await server.root.call(verb, at, body, {
    headers: { ...headers, ...(verb === 'PATCH' && mergePatch) },
  })
  return answer.status === 503 ? String(answer.body.errors) : ''
}

async function refusedDuring(effect: string): Promise<string[]> {
  const { body } = await server.root.write(messagesPath, { ...plain, title: 'walk', effect })
  const refused: string[] = []
  for (const operation of operations)
    if ((await refusalOf(operation)) === 'maintenance: walk') refused.push(operation)
  await server.root.delete(`${messagesPath}/${String(body.data?.['id'])}`)
  return refused
}

/** Calls that would end what the walk needs, or that do not end themselves. */
const left =
  /^(?:POST \/sys\/(?:seal|step-down|unseal|init)|POST \/auth\/token\/revoke-self|GET \/sys\/monitor)$/

/** What goes on, of all that is written. docs/contract/message-windows.md#read-only */
const passing = [
  /^POST \/auth\/\w+\/(?:cel\/)?login(?:\/|$)/,
  /^POST \/auth\/jwt\/oidc\/(?:auth_url|callback|poll)$/,
  /^POST \/auth\/token\/(?:create|lookup|renew|revoke)/,
  /^POST \/sys\/(?:leases\/)?(?:lookup|renew|revoke)/,
  /^POST \/identity\/entity\/id\/\{id\}\/revoke-tokens$/,
  /^(?:POST|DELETE) \/auth\/approle\/role\/\{role_name\}\/secret-id(?:-accessor)?\/(?:lookup|search|destroy)/,
  /^POST \/sys\/(?:capabilities|audit-hash|tools\/|decode-token)/,
  /^POST \/identity\/(?:lookup\/|oidc\/introspect)/,
  /^POST \/auth\/\w+\/(?:explain|failures\/hash|cel\/try|(?:config|(?:cel\/)?role\/\{name\})\/what-if)$/,
  /^POST \/sys\/policies\/(?:acl\/\{\w+\}\/what-if|explain)$/,
  /^POST \/sys\/wrapping\/(?:lookup|unwrap|rewrap)$/,
  /^POST \/cloud\/(?:token|static-creds)\//,
  /^(?:POST|PATCH|DELETE) \/sys\/config\/ui\/custom-messages/,
  /^POST \/sys\/internal\/ui\/authenticated-messages\//,
  /^(?:POST|DELETE) \/sys\/(?:rekey|generate-root|rotate\/(?:root|recovery)\/)(?!.*backup$)/,
]

test('a read-only window refuses every documented write but those that go on', async () => {
  const refused = await refusedDuring('read_only')
  const writes = operations.filter((operation) => !operation.startsWith('GET'))

  expect(refused.toSorted()).toEqual(
    writes.filter((operation) => !passing.some((pattern) => pattern.test(operation))).toSorted(),
  )
  expect(refused.length).toBeGreaterThan(80)
})

test('a window without new credentials refuses what makes credentials, and nothing else', async () => {
  expect((await refusedDuring('no_new_credentials')).toSorted()).toEqual([
    'GET /cloud/creds/{name}',
    'GET /cloud/token/{name}',
    'POST /cloud/rotate-role/{name}',
    'POST /cloud/static-creds/{name}/token',
    'POST /cloud/token/{name}',
    'POST /sys/wrapping/wrap',
  ])
})

test('both audit entries of a request show that it overrode a window, and others do not', async () => {
  const { root } = server
  const { body } = await root.write(messagesPath, { ...plain, title: 'audited', effect: 'read_only' })
  const write = (headers: Record<string, string>) => root.write('cubbyhole/a', { b: 'c' }, { headers })

  const entries = await audit.during(async () => {
    await write({ 'X-Gatehouse-Override': 'maintenance' })
    await write({})
    await root.delete(`${messagesPath}/${String(body.data?.['id'])}`)
    await write({ 'X-Gatehouse-Override': 'maintenance' })
  })

  const written = entries.filter((entry) => String(entry['request']?.['path']) === 'cubbyhole/a')
  expect(written.map((entry) => entry['request']?.['override'])).toEqual([
    ...['maintenance', 'maintenance'],
    ...[undefined, undefined],
    ...[undefined, undefined],
  ])
  expect(written.map((entry) => entry['reason'])).toEqual([
    ...[undefined, undefined],
    ...[undefined, 'maintenance'],
    ...[undefined, undefined],
  ])
})
