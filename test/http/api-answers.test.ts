import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Directory } from '../../simulators/directory/directory.ts'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { type AuditFile, enableAuditFile } from '../support/audit-file.ts'
import type { Client, Json } from '../support/client.ts'
import { practiceType } from '../support/practice-type.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { calls, type DocumentedCall } from './documented-calls.ts'

type Content = { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }
type Responses = Record<
  string,
  { $ref?: string; headers?: object; content?: { 'application/json': Content } }
>

const stack = new AsyncDisposableStack()
let directory: Directory
let server: TestServer
let audit: AuditFile
/** The request ids of all calls, with what was asked. */
const sent = new Map<string, string>()
let document: Json
let ajv: Ajv2020
let operations: ReadonlyMap<string, Responses>

beforeAll(async () => {
  directory = stack.use(await startDirectory())
  const folder = stack.use(await temporaryFolder())
  server = await startTestServer({
    settings: { AUDIT_DIRS: folder.path },
    plugins: [practiceType({ roles: new Map([['ci', { ttl: 3600, maxTtl: 0, renewable: true }]]) })],
    environment: {
      CLOUD_AUTHORITY_HOST: directory.authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
      CLOUD_CA_FILE: directory.caFile,
    },
  })
  await server.root.write('sys/auth/userpass', { type: 'userpass' })
  await server.root.write('sys/auth/approle', { type: 'approle' })
  document = (await server.root.read('sys/internal/specs/openapi')).body
  ajv = new Ajv2020({ strict: false, allErrors: true })
  // the package's type declares a wrapper around its function that does not exist
  ;(addFormats as unknown as (to: Ajv2020) => void)(ajv)
  ajv.addSchema({ ...closed(document), $id: 'document' })
  operations = new Map(
    Object.entries(document.paths ?? {}).flatMap(([at, item]) =>
      Object.entries(item)
        .filter(([verb]) => /^(?:get|post|patch|delete)$/.test(verb))
        // the shape of an OpenAPI document, which another test checks
        .map(([verb, operation]) => [`${verb} ${at}`, operation.responses as unknown as Responses] as const),
    ),
  )
  audit = await enableAuditFile(server.root, folder.file('audit.log'))
  await prepare()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await stack.disposeAsync()
})

const escaped = (part: string) =>
  part.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')

/** Compiled once for each place. */
function validatorAt(...pointer: string[]): ValidateFunction {
  const validate = ajv.getSchema(`document#/${pointer.map(escaped).join('/')}`)
  if (validate === undefined) throw new Error(`no schema at ${pointer.join('/')}`)
  return validate
}

/** Where the document describes the response to an operation. */
function placeOf(operation: string, status: string): string[] {
  const [verb = '', at = ''] = operation.split(' ')
  const reference = operations.get(operation)?.[status]?.$ref
  return reference === undefined ? ['paths', at, verb, 'responses', status] : reference.slice(2).split('/')
}

/** The members that the document names for this response; undefined if it is not an envelope. */
function propertiesAt(place: readonly string[]): string[] | undefined {
  const reference = (contentAt(place)?.schema as { $ref?: string } | undefined)?.$ref ?? ''
  const found = document.components?.['schemas']?.[reference.split('/').at(-1) ?? '']
  return reference.endsWith('-answer') ? Object.keys(found?.['properties'] ?? {}) : undefined
}

function contentAt(place: readonly string[]): Content | undefined {
  const found = place.reduce<unknown>(
    (at, key) => (at as Record<string, unknown> | undefined)?.[key],
    document,
  )
  return (found as Responses[string] | undefined)?.content?.['application/json']
}

/**
 * The same schema without unnamed members: a response with an undocumented member is a bug. An envelope may
 * have more, because some responses repeat members of `data` there. Members of an envelope or a token's
 * record that the document does not name are null.
 */
function closed(document: Json): object {
  const close = (name: string, value: unknown): unknown => {
    const isOpen =
      !name.endsWith('-answer') &&
      typeof value === 'object' &&
      value !== null &&
      'properties' in value &&
      (!('additionalProperties' in value) || value.additionalProperties === true)
    return isOpen && 'type' in value && value.type === 'object'
      ? { ...value, additionalProperties: name === 'Auth' ? { type: 'null' } : false }
      : value
  }
  const schemas = Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [
    name,
    JSON.parse(JSON.stringify(schema), (_, value) => close(name, value)),
  ])
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } }
}

async function prepare(): Promise<void> {
  await server.root.write('sys/mounts/practice', { type: 'practice' })
  for (let at = 0; at < 6; at++)
    kept.set(`lease${at}`, String((await server.root.read('practice/creds/ci')).body.lease_id))
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  kept.set('publicKey', await exportSPKI(publicKey))
  const jwt = new SignJWT({})
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuedAt()
    .setSubject('build-7')
    .setAudience('here')
    .setExpirationTime('1h')
  kept.set('jwt', await jwt.sign(privateKey))
  kept.set('subscription', directory.subscriptionId).set('tenant', directory.tenantId)
  kept.set('rootClient', directory.rootClientId).set('rootSecret', directory.rootClientSecret)
}

/**
 * Browser logins need a provider, explaining a refused login its request id, a rekey a Shamir seal, and
 * initialization an empty store: their own tests check those responses.
 */
const notHere = [
  'post /sys/init',
  'get /sys/rekey/init',
  'post /sys/rekey/init',
  'post /sys/rekey/update',
  'get /sys/rekey/verify',
  'post /sys/rekey/verify',
  // no cloud reads the issuer of this server
  ...['get', 'post'].map((verb) => `${verb} /cloud/token/{name}`),
  // the key of a store in memory is not kept
  'post /sys/rotate/root',
  'get /sys/rekey/backup',
  'delete /sys/rekey/backup',
  ...['get', 'post', 'delete'].map((verb) => `${verb} /sys/rotate/root/init`),
  'post /sys/rotate/root/update',
  ...['get', 'post', 'delete'].map((verb) => `${verb} /sys/rotate/root/verify`),
  ...['get', 'delete'].map((verb) => `${verb} /sys/rotate/root/backup`),
  'get /sys/storage/snapshot',
  // there are no databases
  'get /sys/plugins/catalog/database/{name}',
  // it does not end
  'get /sys/monitor',
  ...['get', 'post'].map((verb) => `${verb} /auth/approle/explain`),
  'post /auth/jwt/oidc/auth_url',
  'get /auth/jwt/oidc/callback',
  'post /auth/jwt/oidc/callback',
  'post /auth/jwt/oidc/poll',
  'get /auth/jwt/explain',
  ...['get', 'post'].map((verb) => `${verb} /auth/userpass/explain`),
]

const unlogged: ReadonlySet<string> = new Set([
  ...['/health/live', '/health/ready', '/sys/health', '/sys/init', '/sys/seal-status', '/sys/leader'].map(
    (path) => `get ${path}`,
  ),
  ...['get /sys/metrics', 'post /sys/init', 'post /sys/unseal'],
])
/** They write the request entry only. */
const oneWay: ReadonlySet<string> = new Set(['post /sys/seal', 'post /sys/step-down'])

const seenHeaders = new Set<string>()

/** Values from earlier calls, by name. */
const kept = new Map<string, string>([['root', 'root']])
const filled = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value).replaceAll(/\$(\w+)/g, (all, name: string) =>
      JSON.stringify(kept.get(name) ?? all).slice(1, -1),
    ),
  )

/** Fields that the document requires in the body of an operation. */
function requiredOf(ask: string): string[] {
  const [verb = '', at = ''] = ask.split(' ')
  const reference =
    document.paths?.[at]?.[verb]?.['requestBody']?.['content']?.['application/json']?.['schema']?.['$ref']
  return Object.values(
    document.components?.['schemas']?.[String(reference).split('/').at(-1) ?? '']?.['required'] ?? {},
  ).map(String)
}

async function send(call: DocumentedCall) {
  const answer = await sendUnnoted(call)
  sent.set(String(answer.headers['x-gatehouse-request-id']), call.ask)
  return answer
}

function sendUnnoted({
  ask,
  params = {},
  query = '',
  body,
  token = 'root',
  ns,
  raw,
  verb,
  headers,
}: DocumentedCall) {
  const [method = '', at = ''] = ask.split(' ')
  const path = filled(at.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? `{${name}}`))
  const client: Client = token === '' ? server.anonymous : server.as(filled(token))
  const isRoot = document.paths?.[at]?.servers !== undefined
  const wanted = {
    ...(ns === undefined ? {} : { 'X-Vault-Namespace': ns }),
    ...(method === 'patch' ? { 'Content-Type': 'application/merge-patch+json' } : {}),
    ...headers,
  }
  return client.call(
    verb ?? method.toUpperCase(),
    `${isRoot ? '' : '/v1'}${path}${filled(query)}`,
    body === undefined ? undefined : filled(body),
    { headers: wanted, ...(raw === undefined ? {} : { raw }) },
  )
}

describe('responses match the API document', () => {
  test.each(calls.map((call) => ({ call, title: `${call.ask} ${call.name ?? ''}` })))(
    '$title',
    async ({ call }) => {
      const { ask, status = 200, keep = {}, isStricter = false } = call
      for (const name of status < 300 && !isStricter ? requiredOf(ask) : []) {
        const { [name]: left, ...others } = call.body as Record<string, unknown>
        expect({
          name,
          sent: left !== undefined,
          status: (await send({ ...call, body: others })).status,
        }).toEqual({ name, sent: true, status: 400 })
      }

      const answer = await send(call)

      expect(answer.status, answer.text).toBe(status)
      const documented = operations.get(ask)
      const described = status < 400 || documented?.[status] !== undefined ? String(status) : 'default'
      expect(Object.keys(documented ?? {})).toContain(described)
      for (const name of Object.keys(answer.headers)) seenHeaders.add(`${ask} ${name}`)
      const place = placeOf(ask, described)
      if (contentAt(place) === undefined) {
        expect(status === 202 ? '' : answer.text).toBe('')
      } else {
        const validate = validatorAt(...place, 'content', 'application/json', 'schema')
        expect({
          valid: validate(answer.body),
          errors: validate.errors,
          ...(validate.errors ? { body: answer.body } : {}),
        }).toEqual({ valid: true, errors: null })
      }
      const named = propertiesAt(place)
      const silent = ['data', 'auth', 'wrap_info'].filter(
        (name) => named !== undefined && !named.includes(name) && (answer.body[name] ?? null) !== null,
      )
      expect(silent).toEqual([])
      for (const [name, at] of Object.entries(keep)) {
        const value = at.split('.').reduce<Json | undefined>((part, key) => part?.[key], answer.body)
        expect(value).toBeDefined()
        kept.set(name, String(value))
      }
    },
  )

  test('with each named header at least once', () => {
    const named = [...operations].flatMap(([operation, responses]) =>
      Object.values(responses).flatMap(({ headers = {} }) =>
        Object.keys(headers).map((name) => `${operation} ${name.toLowerCase()}`),
      ),
    )

    expect(named).toContain('get /sys/internal/ui/authenticated-messages etag')
    expect(named.filter((name) => !seenHeaders.has(name))).toEqual([])
  })

  test('for every operation', () => {
    const withAnswers = [...operations]
      .filter(([, responses]) => Object.keys(responses).some((status) => status !== 'default'))
      .map(([name]) => name)
    const asked = new Set(calls.filter(({ status = 200 }) => status < 400).map(({ ask }) => ask))

    expect(withAnswers.filter((operation) => !asked.has(operation))).toEqual(notHere)
  })
})

test('every response with a body has a valid example', () => {
  const wrong = [...operations].flatMap(([operation, responses]) =>
    Object.keys(responses).flatMap((status) => {
      const place = placeOf(operation, status)
      const content = contentAt(place)
      if (content === undefined) return []
      const validate = validatorAt(...place, 'content', 'application/json', 'schema')
      const examples =
        content.examples === undefined
          ? [content.example]
          : Object.values(content.examples).map(({ value }) => value)
      return examples
        .filter((example) => example === undefined || !validate(example))
        .map((example) => ({ operation, status, example, errors: validate.errors }))
    }),
  )

  expect(wrong).toEqual([])
})

describe('the audit entries of these calls', () => {
  test('are one of the request and one of the response, except of node-level paths', () => {
    const typesOf = Map.groupBy(audit.entries(), (entry) => String(entry['request']?.['id']))
    const wrong = [...sent].flatMap(([id, ask]) => {
      const types = (typesOf.get(id) ?? []).map((entry) => String(entry['type'])).join()
      const wanted = unlogged.has(ask) ? '' : oneWay.has(ask) ? 'request' : 'request,response'
      return types === wanted ? [] : [{ ask, types }]
    })

    expect(sent.size).toBeGreaterThan(calls.length)
    expect(wrong).toEqual([])
  })

  const responses = (path: RegExp) =>
    audit
      .entries()
      .filter(
        (entry) => String(entry['type']) === 'response' && path.test(String(entry['request']?.['path'])),
      )

  test('name the entity that a login has created', () => {
    const [first, second] = responses(/^auth\/jwt\/login$/).filter((entry) => entry['response']?.['auth'])

    expect(first?.['auth']).toEqual({
      policy_results: { allowed: true },
      entity_created: true,
      token_type: 'default',
    })
    expect(first?.['response']?.['auth']).toMatchObject({
      entity_created: true,
      display_name: 'jwt-build-7',
      token_type: 'service',
    })
    expect(second?.['auth']?.['entity_created']).toBeUndefined()
  })

  test('have the correlation id and the lease of a cloud credential, and not its secret', () => {
    const [issued] = responses(/^cloud\/creds\//).filter((entry) => entry['response']?.['secret'])

    expect(issued?.['correlation_id']).toEqual(issued?.['request']?.['id'])
    expect(issued?.['response']).toMatchObject({
      secret: { lease_id: expect.stringMatching(/^cloud\/creds\//) },
      data: { client_secret: expect.stringMatching(/^hmac-sha256:/) },
    })
  })
})
