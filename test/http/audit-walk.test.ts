import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AuditFile, enableAuditFile } from '../support/audit-file.ts'
import { type Answer, type CallOptions, type Client, inside } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const stack = new AsyncDisposableStack()
let server: TestServer
let audit: AuditFile
let templates: string[]

beforeAll(async () => {
  const folder = stack.use(await temporaryFolder())
  server = stack.use(await startTestServer({ settings: { AUDIT_DIRS: folder.path } }))
  await server.root.write('sys/auth/userpass', { type: 'userpass' })
  templates = Object.keys((await server.root.read('sys/internal/specs/openapi')).body['paths'] ?? {})
  audit = await enableAuditFile(server.root, folder.file('audit.log'))
})
afterAll(() => stack.disposeAsync())

const idOf = ({ headers }: Answer) => String(headers['x-gatehouse-request-id'])

/** The types of the entries of each request. */
const typesById = (): Map<string, string> =>
  new Map(
    [...Map.groupBy(audit.entries(), (entry) => String(entry['request']?.['id']))].map(([id, entries]) => [
      id,
      entries.map((entry) => String(entry['type'])).join(),
    ]),
  )

const both = 'request,response'
const verbs = ['GET', 'LIST', 'SCAN', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'HELP', 'OPTIONS', 'FOO']

const writes: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** Paths of the node. */
const ofNode =
  /^\/(?:health.*|metrics|docs.*|sys\/(?:health|init|seal-status|leader|unseal|metrics|seal|step-down|rekey(?:-recovery-key)?\/(?:init|update|verify)|generate-root\/.*))$/
const oneWay = /^\/sys\/(?:seal|step-down)$/
const ceremony = /^\/sys\/(?:rekey|rekey-recovery-key|generate-root)\//
/** Refused for the wrapping token, before anything else is looked at. */
const wrappingToken = /^\/sys\/wrapping\/(?:lookup|unwrap|rewrap)$/

/** What a request without a token leaves, by its path and verb. */
function wanted(path: string, verb: string, status: number): string {
  if (verb === 'FOO' || (verb === 'OPTIONS' && !ofNode.test(path))) return ''
  if (verb === 'HELP') return path.startsWith('/health') ? '' : both
  if (path.endsWith('/') && writes.has(verb)) return ''
  if (ofNode.test(path)) {
    // other verbs than the path serves are refused with 405 and no text
    if (oneWay.test(path)) return verb === 'POST' || verb === 'PUT' ? 'request' : ''
    return ceremony.test(path) && served(path).has(verb) && status !== 404 ? both : ''
  }
  // a list has another path
  return wrappingToken.test(path) && verb !== 'LIST' && verb !== 'SCAN' ? '' : both
}

const served = (path: string): ReadonlySet<string> =>
  new Set(/\/update$/.test(path) ? ['POST', 'PUT'] : ['GET', 'POST', 'PUT', 'DELETE'])

const filled = (template: string) => template.replaceAll(/\{\w+\}/g, 'x')

describe('each path with each verb', () => {
  test.each(verbs)('%s, without a token', async (verb) => {
    const asked = new Map<string, { path: string; status: number }>()
    for (const path of new Set([...templates.map(filled), '/none/x', '/x'])) {
      const options: CallOptions =
        verb === 'PATCH' ? { headers: { 'Content-Type': 'application/merge-patch+json' } } : {}
      const sends = writes.has(verb)
      const root = /^\/(?:health|metrics|docs)/.test(path)
      const answer = await server.anonymous.call(
        verb,
        root ? path : `/v1${path}`,
        sends ? {} : undefined,
        options,
      )
      asked.set(idOf(answer), { path, status: answer.status })
    }
    const types = typesById()
    const wrong = [...asked].flatMap(([id, { path, status }]) => {
      const found = types.get(id) ?? ''
      return found === wanted(path, verb, status) ? [] : [{ path, status, found }]
    })

    expect(asked.size).toBeGreaterThan(100)
    expect(wrong).toEqual([])
  })
})

const messages = 'sys/internal/ui/unauthenticated-messages'
const tagOf = ({ headers }: Answer) => String(headers['etag'])

describe('responses that take a short way', () => {
  const ask = (client: Client, path: string, headers: Record<string, string> = {}) =>
    client.read(path, { headers })

  test.each([
    { name: 'a response that is prepared', send: () => ask(server.anonymous, messages), status: 200 },
    {
      name: 'an unchanged response',
      send: async () =>
        ask(server.anonymous, messages, { 'If-None-Match': tagOf(await ask(server.anonymous, messages)) }),
      status: 304,
    },
    { name: 'a path without its /v1', send: () => ask(server.anonymous, `/${messages}`), status: 200 },
    { name: 'help', send: () => ask(server.root, 'sys/mounts?help=1'), status: 200 },
    { name: 'help of a node-level path', send: () => ask(server.root, 'sys/seal?help=1'), status: 200 },
    { name: 'a list of nothing', send: () => server.root.list('cubbyhole/none'), status: 404 },
    { name: 'a HEAD', send: () => server.root.call('HEAD', 'sys/mounts'), status: 405 },
    { name: 'a bad token', send: () => ask(server.as('bad'), 'sys/mounts'), status: 403 },
    {
      name: 'a wish to wrap without a token',
      send: () => ask(server.anonymous, messages, { 'X-Vault-Wrap-TTL': '60' }),
      status: 400,
    },
    {
      name: 'a namespace in the path',
      send: async () => {
        await server.root.write('sys/namespaces/team')
        return ask(server.root, 'team/sys/mounts')
      },
      status: 200,
    },
    {
      name: 'a namespace that is being looked for in another one',
      send: () => server.root.read('sys/namespaces/none', inside('team')),
      status: 404,
    },
  ])('$name writes both entries', async ({ send, status }) => {
    const answer = await send()

    expect(answer.status).toBe(status)
    expect(typesById().get(idOf(answer))).toBe(both)
  })

  test.each([
    { name: '/docs', path: '/docs' },
    { name: '/metrics', path: '/metrics' },
    { name: 'a redirect', path: '/v1//sys/mounts' },
  ])('$name writes none', async ({ path }) => {
    expect(typesById().get(idOf(await server.root.read(path)))).toBeUndefined()
  })

  test('a request whose client leaves while it waits writes both entries', async () => {
    const tag = tagOf(await ask(server.anonymous, messages))
    const before = audit.entries().length
    const headers = { 'If-None-Match': tag }
    const waiting = request(`${server.url}/v1/${messages}?wait=60s`, { headers })
      .on('error', () => {})
      .end()
    while (audit.entries().length === before) await ask(server.anonymous, 'sys/health')
    waiting.destroy()
    while (audit.entries().length < before + 2) await ask(server.anonymous, 'sys/health')

    const [asked, answered, ...more] = audit.entries().slice(before)
    expect(answered?.['request']).toEqual(asked?.['request'])
    expect([asked?.['type'], answered?.['type'], ...more]).toEqual(['request', 'response'])
  })
})
