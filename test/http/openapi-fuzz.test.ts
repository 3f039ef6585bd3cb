import fc from 'fast-check'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Answer } from '../support/client.ts'
import { practiceType } from '../support/practice-type.ts'
import { many } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Generation, type Schema, valuesOf } from './generated-bodies.ts'
import { groupOf, ShownValues } from './shown-values.ts'

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
type Request = {
  readonly verb: string
  readonly path: string
  readonly body: unknown
  /** The media type of the body. */
  readonly type: string
  readonly named: Readonly<Record<string, unknown>>
}

/** Requests of each operation. `npm run fuzz` sets both. */
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? many(1, 2))
const seed = Number(process.env['FUZZ_SEED'] ?? 18)

/** Never asked: sealing ends everything, and the log is a stream without an end. */
const left = new Set(['post /sys/seal', 'get /sys/monitor'])
/**
 * Their bodies are not counted, because no schema can give what they need: shares of the seal key, a wrapped response
 * that nobody has unwrapped yet, a token with an entity, a cloud, a locked namespace, a mount that has not moved yet,
 * one of the 32 audit devices that a server may have, a secret id of a role, a user's password, a secret that was not
 * moved yet.
 */
const needsMore = new RegExp(
  [
    ...['^/sys/(?:init|unseal|rekey|rotate/(?:root|recovery)|generate-root|decode-token|wrapping)'],
    ...[
      '/ack$',
      '^/sys/audit/',
      '^/cloud/',
      '^/auth/(?:jwt/(?:login|oidc)|approle|userpass/login)',
      '^/(?:kv|secret)/(?:restore|copy|move)/',
      'api-lock/unlock',
      '/remount',
    ],
  ].join('|'),
)

/**
 * These come last: they end what others need. So does the configuration of the cloud, because with it other requests
 * would ask the cloud, outside of this machine.
 */
const destroys = new RegExp(
  [
    ...['^delete ', 'revoke', 'lock', 'remount', 'quotas', 'merge', 'batch-delete', 'cors', 'step-down'],
    ...['^post /cloud/config', '^post /sys/(?:init|rekey|rotate)'],
    // they may say that every write has to name the current version
    '^(?:post|patch) /(?:kv|secret)/(?:config|metadata)',
  ].join('|'),
)

/** A message may stop all writes. */
const stops = /^(?:post|patch) \/sys\/config\/ui\/custom-messages/

/** A name is refused while something has it. */
const createsOnce = /^post \/sys\/(?:auth|mounts|audit)\/\{path\}$/

const limits = { timeout: 30_000 + 5_000 * rounds }
/** The least part of the bodies for each group of operations that must be accepted, with enough rounds to tell. */
const leastAccepted = 0.5
const enoughRounds = 20
const fewRounds = 5

test(
  'no generated request of any operation makes the server fail, and most bodies are accepted',
  limits,
  async () => {
    const bugs: string[] = []
    const log = pino(
      { level: 'error' },
      {
        write: (line: string) => {
          if (!isPromised(line)) bugs.push(line)
        },
      },
    )
    await using folder = await temporaryFolder()
    await using server = await startTestServer({
      log,
      plugins: [practiceType({ roles: new Map([['ci', { ttl: 3600, maxTtl: 0, renewable: true }]]) })],
      settings: { AUDIT_DIRS: folder.path, OUTBOUND_DENY: '0.0.0.0/0,::/0' },
    })
    const shown = new ShownValues(await accessorOf(server))
    await prepare(server, shown)
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
    const groups = new Map<string, Group>()

    for (const target of targets)
      for (let round = 0; round < roundsOf(target); round++) {
        const requests = requestsOf(target, document, shown)
        const [request] = fc.sample(requests, { numRuns: 1, seed: seed + round })
        if (request === undefined) continue
        const answer = await send(server, request)
        if (isFailure(answer)) failures.push({ ...request, status: answer.status, text: answer.text })
        learn(shown, target, request, answer)
        if (request.body !== undefined && !needsMore.test(target.path)) count(groups, target, answer)
      }
    const refused = Object.fromEntries(
      [...groups].filter(([, one]) => one.accepted < leastAccepted * one.bodies),
    )
    const [bodies, accepted] = [sum(groups, 'bodies'), sum(groups, 'accepted')]
    if (rounds >= enoughRounds) console.log(`${accepted} of ${bodies} bodies were accepted`)

    expect({ seed, failures, bugs }).toEqual({ seed, failures: [], bugs: [] })
    expect(bodies).toBeGreaterThan(100)
    expect(accepted / bodies).toBeGreaterThan(leastAccepted)
    if (rounds >= enoughRounds) expect(refused).toEqual({})
    expect((await server.anonymous.read('/health/ready')).status).toBe(200)
  },
)

/** Requests with little to choose are all the same, and some of their responses are as large as the API. */
const roundsOf = ({ operation: { parameters = [], requestBody } }: Target): number =>
  requestBody === undefined && parameters.every((one) => one.in !== 'path')
    ? Math.min(rounds, fewRounds)
    : rounds

/** The bodies of a group of operations, and how often each refusal was given. */
type Group = { bodies: number; accepted: number; readonly refusals: Record<string, number> }

function count(groups: Map<string, Group>, { verb, path }: Target, { status, text }: Answer): void {
  const group = groups.get(groupOf(path)) ?? { bodies: 0, accepted: 0, refusals: {} }
  groups.set(groupOf(path), group)
  group.bodies += 1
  if (status < 300) group.accepted += 1
  else {
    const refusal = `${verb} ${path} ${status} ${text.slice(0, 120)}`
    group.refusals[refusal] = (group.refusals[refusal] ?? 0) + 1
  }
}

const sum = (groups: ReadonlyMap<string, Group>, figure: 'bodies' | 'accepted'): number =>
  [...groups.values()].reduce((total, group) => total + group[figure], 0)

/** Later requests refer to what the server has shown, and to what earlier ones have created. */
function learn(shown: ShownValues, { verb, path }: Target, request: Request, answer: Answer): void {
  if (answer.status >= 300) return
  shown.noteAnswer(path, answer.body)
  if (verb === 'post')
    for (const [name, value] of Object.entries(request.named)) shown.note(`${groupOf(path)}:${name}`, value)
}

/** The fuzzer must keep its own token. */
const accessorOf = async ({ root }: TestServer): Promise<string> =>
  String((await root.read('auth/token/lookup-self')).body['data']?.['accessor'])

const furtherMounts = [
  ['sys/mounts/practice', { type: 'practice' }],
  ['sys/mounts/kv', { type: 'kv', options: { version: '2' } }],
  ['sys/mounts/kv1', { type: 'kv', options: { version: '1' } }],
  ['sys/auth/approle', { type: 'approle' }],
  ['sys/auth/userpass', { type: 'userpass' }],
] as const

/** Makes what requests may refer to from the start. */
async function prepare({ root }: TestServer, shown: ShownValues): Promise<void> {
  for (const [path, body] of furtherMounts) await root.write(path, body)
  shown.noteAnswer('/sys/auth', (await root.read('sys/auth')).body['data'])
  for (let count = 0; count < 8; count++) {
    await root.write(`auth/userpass/users/user-${count}`, { password: 'long enough' })
    shown.note('auth/userpass:username', `user-${count}`)
    shown.noteAnswer('/auth/token', (await root.write('auth/token/create', { policies: ['default'] })).body)
    const { body } = await root.read('practice/creds/ci')
    shown.noteAnswer('/practice/creds', body)
    for (const group of ['sys/leases', 'sys/renew', 'sys/revoke'])
      shown.note(`${group}:path`, body['lease_id'])
  }
}

async function documentOf({ root }: TestServer): Promise<Document> {
  return JSON.parse((await root.read('sys/internal/specs/openapi')).text)
}

const order = ({ verb, path }: Target): number =>
  path === '/auth/token/revoke-self'
    ? 4
    : stops.test(`${verb} ${path}`)
      ? 3
      : destroys.test(`${verb} ${path}`)
        ? 2
        : verb === 'get'
          ? 1
          : 0

function requestsOf(target: Target, { components }: Document, shown: ShownValues): fc.Arbitrary<Request> {
  const { path, verb, operation } = target
  const generation: Generation = {
    resolve: (ref) => components.schemas[ref.replace(/^.*\//, '')] ?? {},
    known: (field) =>
      field === 'name' && path.includes('-alias') ? [`name-${shown.fresh()}`] : shown.of(path, field),
  }
  const { parameters = [], requestBody } = operation
  const [[type = '', content] = []] = Object.entries(requestBody?.content ?? {})
  const values = fc.record(
    Object.fromEntries(parameters.map((one) => [one.name, parameterValues(one, target, shown, generation)])),
    {
      requiredKeys: parameters
        .filter((one) => one.required === true || one.in === 'path')
        .map(({ name }) => name),
    },
  )
  const body =
    content === undefined ? fc.constant(undefined) : valuesOf(content.schema, generation).map(onLoopback)
  return fc.tuple(values, body).map(([chosen, sent]) => {
    const query = new URLSearchParams()
    const named: Record<string, unknown> = {}
    let filled = path
    for (const { name, in: place } of parameters) {
      if (chosen[name] === undefined) continue
      const text = inAddress(chosen[name])
      if (place === 'query') query.append(name, text)
      if (place !== 'path') continue
      named[name] = text
      filled = filled.replace(`{${name}}`, encodeURIComponent(text))
    }
    return { verb, path: query.size === 0 ? filled : `${filled}?${query}`, body: sent, type, named }
  })
}

/** An object may have no `toString`. */
const inAddress = (value: unknown): string =>
  typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : String(value)

/** Names of what exists, the example, and others. */
function parameterValues(
  { name, in: place, schema, example }: Parameter,
  { verb, path }: Target,
  shown: ShownValues,
  generation: Generation,
): fc.Arbitrary<unknown> {
  const made = valuesOf(schema, generation)
  if (createsOnce.test(`${verb} ${path}`)) return made
  const known = place === 'path' ? shown.of(path, name) : []
  if (known.length > 0)
    return fc.oneof({ arbitrary: fc.constantFrom(...known), weight: 8 }, { arbitrary: made, weight: 1 })
  return example === undefined ? made : fc.oneof(fc.constant(example), made)
}

/** No request leaves this machine, not even for a name. */
const onLoopback = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body).replaceAll(/(https?):\/\/[^/"]+/g, '$1://127.0.0.1:9'))

function send({ root }: TestServer, { verb, path, body, type }: Request): Promise<Answer> {
  const isOfNode = /^\/(?:health|metrics)/.test(path)
  const headers: Record<string, string> = type === '' ? {} : { 'Content-Type': type }
  return root.call(verb.toUpperCase(), isOfNode ? path : `/v1${path}`, body as object | undefined, {
    headers,
  })
}

/** docs/contract/approle.md: a secret id whose role is gone is 500 for Terraform's provider. */
const isPromised = (text: string): boolean => /role \\+"[^"]*" does not exist/.test(text)

const isFailure = ({ status, headers, text }: Answer): boolean =>
  (status === 500 && !isPromised(text)) ||
  status === 502 ||
  status === 504 ||
  (status === 503 && headers['retry-after'] === undefined)
