import fc from 'fast-check'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Answer } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Schema, valuesOf } from './generated-bodies.ts'

type Parameter = {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Schema
  readonly example?: unknown
}
type Operation = {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> }
}
type Document = {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, Schema> }
}
type Target = { readonly verb: string; readonly path: string; readonly operation: Operation }
type Request = { readonly verb: string; readonly path: string; readonly body: unknown }

/** Requests of each operation. `npm run fuzz` sets both. */
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 2)
const seed = Number(process.env['FUZZ_SEED'] ?? 18)

/** Never asked: sealing ends everything, and the log is a stream without an end. */
const left = new Set(['post /sys/seal', 'get /sys/monitor'])
/** Refusals of bodies that are what the schema says: it cannot say what exists or what is allowed now. */
const isAboutState = new RegExp(
  [
    ...['not found', 'not exist', 'does not match', 'no named key', 'no matching mount', 'unknown role'],
    ...['could not load configuration', 'config is nil', 'is not valid or', 'merge to is invalid'],
    'invalid (?:accessor|lease|token\\b|alias ID|group (?:alias )?ID|entity ID)',
    ...['already initialized', 'vault is unsealed', 'not available with seal type', 'not renewable'],
    ...['cannot be locked', 'needs a token with an entity', 'response wrapping', 'is(?: not)? in progress'],
  ].join('|'),
  'i',
)

/**
 * These come last: they end what others need. So does the configuration of the cloud, because with it other requests
 * would ask the cloud, outside of this machine.
 */
const destroys = new RegExp(
  [
    ...['^delete ', 'revoke', 'lock', 'remount', 'quotas', 'merge', 'batch-delete', 'cors', 'step-down'],
    ...['/(?:auth|mounts|namespaces)/\\{', '^post /cloud/config', '^post /sys/(?:init|re|rotate)'],
  ].join('|'),
)

const limits = { timeout: 30_000 + 5_000 * rounds }

test(
  'no generated request of any operation makes the server fail, and most bodies are accepted',
  limits,
  async () => {
    const bugs: string[] = []
    const log = pino({ level: 'error' }, { write: (line: string) => void bugs.push(line) })
    await using folder = await temporaryFolder()
    await using server = await startTestServer({
      log,
      settings: { AUDIT_DIRS: folder.path, OUTBOUND_DENY: '0.0.0.0/0,::/0' },
    })
    const document = await documentOf(server)
    const targets = Object.entries(document.paths)
      .flatMap(([path, item]) =>
        ['get', 'post', 'patch', 'delete'].flatMap((verb) => {
          const operation = item[verb]
          return operation === undefined || left.has(`${verb} ${path}`) ? [] : [{ verb, path, operation }]
        }),
      )
      .toSorted((a, b) => order(a) - order(b))
    const failures: object[] = []
    let [bodies, accepted] = [0, 0]

    for (const target of targets) {
      for (const request of fc.sample(requestsOf(target, document), { numRuns: rounds, seed })) {
        const answer = await send(server, request)
        if (isFailure(answer)) failures.push({ ...request, status: answer.status, text: answer.text })
        if (request.body === undefined) continue
        bodies += 1
        if (answer.status !== 400 || isAboutState.test(answer.text)) accepted += 1
      }
    }

    expect({ seed, failures, bugs }).toEqual({ seed, failures: [], bugs: [] })
    expect(bodies).toBeGreaterThan(100)
    expect(accepted / bodies).toBeGreaterThan(0.5)
    expect((await server.anonymous.read('/health/ready')).status).toBe(200)
  },
)

async function documentOf({ root }: TestServer): Promise<Document> {
  return JSON.parse((await root.read('sys/internal/specs/openapi')).text)
}

const order = ({ verb, path }: Target): number =>
  path === '/auth/token/revoke-self' ? 3 : destroys.test(`${verb} ${path}`) ? 2 : verb === 'get' ? 1 : 0

function requestsOf({ verb, path, operation }: Target, { components }: Document): fc.Arbitrary<Request> {
  const resolve = (ref: string) => components.schemas[ref.replace(/^.*\//, '')] ?? {}
  const { parameters = [], requestBody } = operation
  const [content] = Object.values(requestBody?.content ?? {})
  const values = fc.record(
    Object.fromEntries(
      parameters.map(({ name, schema, example }) => [
        name,
        example === undefined
          ? valuesOf(schema, resolve)
          : fc.oneof(fc.constant(example), valuesOf(schema, resolve)),
      ]),
    ),
    {
      requiredKeys: parameters
        .filter((one) => one.required === true || one.in === 'path')
        .map(({ name }) => name),
    },
  )
  const body =
    content === undefined ? fc.constant(undefined) : valuesOf(content.schema, resolve).map(onLoopback)
  return fc.tuple(values, body).map(([chosen, sent]) => {
    const query = new URLSearchParams()
    let filled = path
    for (const { name, in: place } of parameters) {
      const text = chosen[name] === undefined ? undefined : String(chosen[name])
      if (text === undefined) continue
      if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(text))
      else if (place === 'query') query.append(name, text)
    }
    return { verb, path: query.size === 0 ? filled : `${filled}?${query}`, body: sent }
  })
}

/** No request leaves this machine, not even for a name. */
const onLoopback = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body).replaceAll(/(https?):\/\/[^/"]+/g, '$1://127.0.0.1:9'))

function send({ root }: TestServer, { verb, path, body }: Request): Promise<Answer> {
  const isOfNode = /^\/(?:health|metrics)/.test(path)
  const headers = verb === 'patch' ? { headers: { 'Content-Type': 'application/merge-patch+json' } } : {}
  return root.call(verb.toUpperCase(), isOfNode ? path : `/v1${path}`, body as object | undefined, headers)
}

const isFailure = ({ status, headers }: Answer): boolean =>
  status === 500 ||
  status === 502 ||
  status === 504 ||
  (status === 503 && headers['retry-after'] === undefined)
