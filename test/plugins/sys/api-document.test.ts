import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { roleFields } from '../../../src/plugins/jwt-auth/config/role.ts'
import type { Client, Json } from '../../support/client.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const path = 'sys/internal/specs/openapi'
/** Describes each type of mount. */
const ofAllTypes = '?generic_mount_paths=true'
/** Compiles the schema of OpenAPI once. */
const validator = new Validator()
let server: TestServer
/** For root, before any test. */
let forRoot: Json
/** Likewise, with mounts as parameters. */
let ofTypes: Json

beforeAll(async () => {
  server = await startTestServer()
  forRoot = await documentFor(server.root)
  ofTypes = await documentFor(server.root, ofAllTypes)
})
afterAll(() => server[Symbol.asyncDispose]())

const documentFor = async (client: Client, query = ''): Promise<Json> =>
  (await client.read(path + query)).body
const keysOf = (json: Json | undefined): string[] => Object.keys(json ?? {})
const pathsFor = async (client: Client, query = ''): Promise<string[]> =>
  keysOf((await documentFor(client, query))['paths'])
const isVerb = (key: string): boolean => /^(?:get|post|patch|delete)$/.test(key)
const operationsOf = (document: Json) =>
  Object.entries(document['paths'] as Record<string, Record<string, Json>>).flatMap(([at, item]) =>
    Object.entries(item)
      .filter(([verb]) => isVerb(verb))
      .map(([verb, operation]) => ({ at, verb, operation })),
  )
const listOf = (json: Json | undefined): Json[] => Object.values(json ?? {})
const names = (parameters: Json | undefined, place: string): string[] =>
  listOf(parameters)
    .filter((parameter) => String(parameter['in']) === place)
    .map((parameter) => String(parameter['name']))

async function withMount<T>(mountPath: string, use: () => Promise<T>): Promise<T> {
  expect((await server.root.write(`sys/auth/${mountPath}`, { type: 'jwt' })).status).toBe(204)
  try {
    return await use()
  } finally {
    await server.root.delete(`sys/auth/${mountPath}`)
  }
}

async function clientWith(rules: string): Promise<Client> {
  await server.root.write('sys/policies/acl/some', { policy: rules })
  const made = await server.root.write('auth/token/create', { policies: ['some'], no_default_policy: true })
  return server.as(String(made.body['auth']?.['client_token']))
}

/** What the format requires and JSON Schema cannot express. */
async function expectSound(document: Json): Promise<void> {
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
  const operations = operationsOf(document)
  const ids = operations.map(({ operation }) => operation['operationId'])
  expect(new Set(ids).size).toBe(ids.length)
  for (const { at, operation } of operations) {
    const inPath = [...at.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name).sort()
    expect({ at, parameters: names(operation['parameters'], 'path').sort() }).toEqual({
      at,
      parameters: inPath,
    })
  }
  for (const [, pointer = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    expect(
      pointer
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document),
    ).toBeDefined()
  }
}

const escaped = (part: string) =>
  part.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')

/** The places of all schemas that state a default. */
function* defaultsIn(value: unknown, at: readonly string[] = []): Generator<[string, unknown]> {
  if (typeof value !== 'object' || value === null) return
  const isSchema = !['properties', 'responses', 'example', 'examples'].includes(at.at(-1) ?? '')
  if (isSchema && 'default' in value) yield [at.map(escaped).join('/'), value.default]
  for (const [key, inner] of Object.entries(value)) yield* defaultsIn(inner, [...at, key])
}

/** As JSON Schema 2020-12, which OpenAPI 3.1 uses: sound in strict mode, with defaults that conform to their schemas. */
function expectStrictSchemas(document: Json): void {
  // each schema is compiled once and hardly used
  const compiled = { inlineRefs: false, code: { optimize: false } }
  const ajv = new Ajv2020({
    ...compiled,
    strict: true,
    allowUnionTypes: true,
    allErrors: true,
    validateFormats: false,
  })
  ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components'])
  ajv.addSchema({ ...document, $id: 'document' })
  const components = keysOf(document['components']?.['schemas'])
  const defaults = [...defaultsIn(document)]
  // throws unless the schema is sound
  const schemaAt = (place: string) => ajv.getSchema(`document#/${place}`)
  const missing = components.filter((name) => schemaAt(`components/schemas/${escaped(name)}`) === undefined)
  const nonconforming = defaults.filter(([at, value]) => !schemaAt(at)?.(value))

  expect(components.length).toBeGreaterThan(300)
  expect(defaults.length).toBeGreaterThan(30)
  expect(missing).toEqual([])
  expect(nonconforming).toEqual([])
}

describe('the document', () => {
  test('is bare JSON, for anyone', async () => {
    const answer = await server.anonymous.read(path)

    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.body['openapi']).toBe('3.1.0')
  })

  test('has a tag for what its caller may see, and who has it gets 304', async () => {
    const anonymous = await server.anonymous.read(path)
    const tag = String(anonymous.headers['etag'])
    const root = await server.root.read(path)
    const has = { headers: { 'If-None-Match': tag } }

    expect((await server.anonymous.read(path, has)).status).toBe(304)
    expect((await server.root.read(path, has)).status).toBe(200)
    expect(root.headers['etag']).not.toBe(tag)
    await withMount('seen', async () => {
      expect((await server.anonymous.read(path, has)).status).toBe(304)
      await server.root.write('sys/auth/seen/tune', { listing_visibility: 'unauth' })
      expect((await server.anonymous.read(path, has)).status).toBe(200)
    })
  })

  test.each([
    { who: 'nobody', client: () => server.anonymous, query: '' },
    { who: 'root', client: () => server.root, query: '' },
    { who: 'nobody, mounts as parameters', client: () => server.anonymous, query: ofAllTypes },
  ])('is valid OpenAPI 3.1 for $who', async ({ client, query }) => {
    await expectSound(await documentFor(client(), query))
  })

  test('has strictly valid schemas for every type of mount', async () => {
    const types = {
      'auth/people': 'userpass',
      'auth/programs': 'approle',
      'mounts/first': 'kv-v1',
      'mounts/second': 'kv-v2',
      'mounts/tenant': 'azure',
    }
    for (const [at, type] of Object.entries(types))
      expect((await server.root.write(`sys/${at}`, { type })).status).toBe(204)

    const document = await documentFor(server.root)
    for (const at of Object.keys(types)) await server.root.delete(`sys/${at}`)

    expectStrictSchemas(document)
    await expectSound(document)
  })

  test('has no envelope whose data is an object or null', () => {
    const schemas = ofTypes['components']?.['schemas'] ?? {}

    const data = Object.entries(schemas).filter(([name]) => name.endsWith('-data'))
    const nullable = data.filter(([, { type }]) => Array.isArray(type))

    expect(data.length).toBeGreaterThan(50)
    expect(nullable).toEqual([])
  })

  test('has only the components that its paths use', async () => {
    const { components, ...rest } = await documentFor(server.anonymous)
    const used = new Set(
      JSON.stringify([rest, components])
        .matchAll(/"#\/components\/schemas\/([^"]+)"/g)
        .map(([, name = '']) => name),
    )

    expect(keysOf(components?.['schemas']).filter((name) => !used.has(name))).toEqual([])
    expect(keysOf(components?.['schemas']).filter((name) => name.startsWith('kv'))).toEqual([])
  })

  test('is valid whatever a mount is called', async () => {
    await withMount('a-b', () =>
      withMount('a/b', () =>
        withMount('br{a}ce', async () => {
          const document = await documentFor(server.root)

          await expectSound(document)
          expect(keysOf(document['paths'])).toEqual(
            expect.arrayContaining(['/auth/a-b/login', '/auth/a/b/login', '/auth/br%7Ba%7Dce/login']),
          )
        }),
      ),
    )
  })

  test('has tags and a summary for every operation', () => {
    const operations = operationsOf(forRoot)

    expect(
      operations.filter(({ operation }) => !operation['summary'] || listOf(operation['tags']).length !== 1),
    ).toEqual([])
  })

  test('is refused for an invalid token', async () => {
    expect((await server.as('hvs.nothing').read(path)).status).toBe(403)
  })
})

describe('paths', () => {
  const offered: Record<string, string> = {
    '/auth/jwt/config': 'get post',
    '/auth/jwt/role': 'get',
    '/auth/jwt/role/{name}': 'get post delete',
    '/auth/jwt/login': 'post',
    '/auth/jwt/oidc/auth_url': 'post',
    '/auth/jwt/oidc/callback': 'get post',
    '/auth/token/create': 'post',
    '/auth/token/create-orphan': 'post',
    '/auth/token/create/{role_name}': 'post',
    '/auth/token/lookup': 'get post',
    '/auth/token/lookup-self': 'get post',
    '/auth/token/lookup-accessor': 'post',
    '/auth/token/renew': 'post',
    '/auth/token/renew-self': 'post',
    '/auth/token/renew-accessor': 'post',
    '/auth/token/revoke': 'post',
    '/auth/token/revoke-self': 'post',
    '/auth/token/revoke-accessor': 'post',
    '/auth/token/revoke-orphan': 'post',
    '/cubbyhole/{path}': 'get post delete',
    '/sys/auth': 'get',
    '/sys/namespaces': 'get',
    '/sys/namespaces/{path}': 'get post patch delete',
    '/sys/auth/{path}': 'get post delete',
    '/sys/mounts': 'get',
    '/sys/mounts/{path}': 'get post delete',
    '/sys/remount': 'post',
    '/sys/remount/status/{migration_id}': 'get',
    '/sys/policies/acl': 'get',
    '/sys/policies/acl/{path}': 'get post delete',
    '/sys/policy': 'get',
    '/sys/policy/{path}': 'get post delete',
    '/sys/capabilities': 'post',
    '/sys/capabilities-self': 'post',
    '/sys/capabilities-accessor': 'post',
    '/sys/internal/ui/mounts': 'get',
    '/sys/internal/ui/mounts/{path}': 'get',
    '/sys/internal/ui/resultant-acl': 'get',
    '/sys/internal/specs/openapi': 'get',
    '/sys/health': 'get',
    '/sys/init': 'get post',
    '/sys/rekey/init': 'get post',
    '/sys/generate-root/update': 'post',
    '/sys/rotate/recovery/verify': 'get post delete',
    '/sys/seal-status': 'get',
    '/sys/leader': 'get',
    '/sys/seal': 'post',
    '/sys/unseal': 'post',
    '/sys/step-down': 'post',
    '/health/live': 'get',
    '/health/ready': 'get',
  }

  test.each(Object.entries(offered))('the document includes %s: %s', (at, verbs) => {
    expect(keysOf(forRoot['paths']?.[at]).filter(isVerb)).toEqual(verbs.split(' '))
  })

  test('each documented path is served', async () => {
    const nodePath = /^\/(?:health\/|sys\/(?:health|init|seal-status|leader|seal|unseal|step-down)$)/
    const paths = keysOf(forRoot['paths']).filter((at) => !nodePath.test(at))

    const helped = await Promise.all(
      paths.map((at) => server.root.read(`${at.slice(1).replaceAll(/\{\w+\}/g, 'x')}?help=1`)),
    )

    expect(paths.filter((_, index) => typeof helped[index]?.body['help'] !== 'string')).toEqual([])
  })

  test('no path belongs to the fixture, and all verbs are those of HTTP', () => {
    const operations = operationsOf(forRoot)

    expect(
      operations.filter(
        ({ at }) => at.includes('*') || at.includes('/-/') || at.includes('(') || at.startsWith('/system'),
      ),
    ).toEqual([])
    expect(new Set(operations.map(({ verb }) => verb))).toEqual(new Set(['get', 'post', 'patch', 'delete']))
  })

  test('paths that clients find without /v1 say so', async () => {
    const { servers, paths } = await documentFor(server.anonymous)

    expect(servers).toEqual([{ url: '/v1' }])
    expect(paths?.['/health/live']?.['servers']).toEqual([{ url: '/' }])
  })
})

describe('mounts', () => {
  test('without a token only the fixed mounts are described', async () => {
    const prefixes = new Set(
      (await pathsFor(server.anonymous)).map((at) =>
        at
          .split('/')
          .slice(1, at.startsWith('/auth/') ? 3 : 2)
          .join('/'),
      ),
    )

    expect([...prefixes].sort()).toEqual(['auth/token', 'cubbyhole', 'health', 'identity', 'sys'])
  })

  test('without a token visible mounts are described too', async () => {
    await withMount('shown', async () => {
      await server.root.write('sys/auth/shown/tune', { listing_visibility: 'unauth' })

      const paths = await pathsFor(server.anonymous)

      expect(paths).toContain('/auth/shown/login')
      expect(paths).not.toContain('/auth/jwt/login')
    })
  })

  test('with a token the mounts that it may use are described', async () => {
    await withMount('mine', async () => {
      const client = await clientWith('path "auth/mine/role/*" { capabilities = ["read"] }')

      const paths = await pathsFor(client)

      expect(paths).toContain('/auth/mine/config')
      expect(paths).not.toContain('/auth/jwt/config')
    })
  })

  test('a denied mount stays hidden', async () => {
    const client = await clientWith('path "auth/jwt/*" { capabilities = ["deny"] }')

    expect((await pathsFor(client)).filter((at) => at.startsWith('/auth/jwt/'))).toEqual([])
  })

  test('a moved mount is described at its new path, and a removed one not at all', async () => {
    await withMount('here', async () => {
      expect(await pathsFor(server.root)).toContain('/auth/here/login')
    })

    expect(await pathsFor(server.root)).not.toContain('/auth/here/login')
  })

  test('mounts as parameters do not reveal which mounts exist', async () => {
    await withMount('hidden', async () => {
      const document = await documentFor(server.anonymous, ofAllTypes)

      expect(JSON.stringify(document)).not.toContain('hidden/')
      expect(keysOf(document['paths'])).toContain('/auth/{jwt_mount_path}/role/{name}')
      expect(
        document['paths']?.['/auth/{jwt_mount_path}/login']?.['post']?.['parameters']?.[0],
      ).toMatchObject({
        name: 'jwt_mount_path',
        in: 'path',
        required: true,
        schema: { type: 'string', default: 'jwt' },
      })
    })
  })
})

describe('operations', () => {
  const operation = (at: string, verb: string) => forRoot['paths']?.[at]?.[verb] as Json
  const schema = (name: string) => ofTypes['components']?.['schemas']?.[name] as Json

  test('a list is a GET with list=true', () => {
    const parameters = operation('/auth/jwt/role', 'get')['parameters']

    expect(names(parameters, 'query').sort()).toEqual(['after', 'limit', 'list'])
    expect(listOf(parameters).find((parameter) => String(parameter['name']) === 'list')).toMatchObject({
      required: true,
      schema: { type: 'string', enum: ['true'] },
    })
  })

  test('a path that can be read and listed has an operation for each, the list under the path with a trailing slash', () => {
    const read = operation('/sys/policies/acl/{path}', 'get')
    const list = operation('/sys/policies/acl/{path}/', 'get')

    expect([read.summary, list.summary]).toEqual(['Read a policy', 'List the policies of a folder'])
    expect(names(read.parameters, 'query')).not.toContain('list')
    expect(listOf(list.parameters).find((parameter) => String(parameter['name']) === 'list')).toMatchObject({
      required: true,
    })
    expect([read['operationId'], list['operationId']]).toEqual([
      'sys-policies-acl-path-read',
      'sys-policies-acl-path-list',
    ])
  })

  test('open paths need no token, and the others require the header', () => {
    const { security, components } = forRoot

    expect(security).toEqual([{ token: [] }])
    expect(components?.['securitySchemes']).toMatchObject({
      token: { type: 'apiKey', in: 'header', name: 'X-Vault-Token' },
    })
    expect(operation('/auth/jwt/login', 'post')['security']).toEqual([])
    expect(operation('/sys/health', 'get')['security']).toEqual([])
    expect(operation('/sys/seal', 'post')['security']).toBeUndefined()
    expect(operation('/sys/metrics', 'get')['security']).toEqual([{}, { token: [] }])
    expect(operation('/sys/internal/ui/mounts', 'get')['security']).toEqual([{}, { token: [] }])
    expect(operation('/sys/internal/ui/mounts/{path}', 'get')['security']).toBeUndefined()
    expect(operation('/auth/jwt/role/{name}', 'post')['security']).toBeUndefined()
  })

  test('every field of a JWT role is present and described, and none is required', () => {
    const { properties, required } = schema('jwt-role-name-post-input')

    expect(keysOf(properties).sort()).toEqual([...Object.keys(roleFields.shape), 'guard'].sort())
    expect(
      Object.entries(properties ?? {}).filter(
        ([, field]) => typeof (field as Json)['description'] !== 'string',
      ),
    ).toEqual([])
    expect(required).toBeUndefined()
  })

  test('a response is one flat object that describes only members with a value', () => {
    const login = schema('jwt-login-post-answer')

    expect(keysOf(login['properties'])).toEqual([
      'request_id',
      'lease_id',
      'renewable',
      'lease_duration',
      'auth',
      'warnings',
      'mount_type',
    ])
    expect(login['required']).toEqual(keysOf(login['properties']))
    const answers = Object.entries(ofTypes.components?.['schemas'] ?? {}).filter(([name]) =>
      name.endsWith('-answer'),
    )
    expect(answers.length).toBeGreaterThan(100)
    for (const [name, answer] of answers) {
      const { allOf, anyOf, oneOf, properties } = answer as Record<string, Json>
      expect({ name, allOf, anyOf, oneOf }).toEqual({ name })
      expect(
        Object.values(properties ?? {}).filter(
          (member) => JSON.stringify(member['type']) === '["object","null"]',
        ),
      ).toEqual([])
    }
  })

  test('every parameter and request field is described, and path parameters have an example', () => {
    const parameters = operationsOf(ofTypes).flatMap(({ operation }) => listOf(operation['parameters']))
    const inputs = Object.entries(ofTypes.components?.['schemas'] ?? {}).filter(([name]) =>
      name.endsWith('-input'),
    )
    const fields = inputs.flatMap(([name, input]) =>
      Object.entries((input as Json)['properties'] ?? {}).map(([field, one]) => ({
        name,
        field,
        one: one as Json,
      })),
    )

    expect(parameters.filter((one) => typeof one['description'] !== 'string')).toEqual([])
    expect(parameters.filter((one) => String(one['in']) === 'path' && one['example'] === undefined)).toEqual(
      [],
    )
    expect(
      fields
        .filter(({ one }) => typeof one['description'] !== 'string')
        .map(({ name, field }) => `${name} ${field}`),
    ).toEqual([])
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const examples = fields.flatMap(({ name, field, one }) =>
      listOf(one['examples']).map((example) => ({ name, field, valid: ajv.validate({ ...one }, example) })),
    )
    expect(examples.length).toBeGreaterThan(200)
    expect(examples.filter(({ valid }) => !valid)).toEqual([])
  })

  test('no default is empty, because generated clients would send it', () => {
    expect(/"default":(?:\[\]|\{\}|null|"")/.exec(JSON.stringify(forRoot))).toBeNull()
  })

  test('every list takes limit and after', () => {
    const lists = operationsOf(forRoot).filter(({ operation }) =>
      names(operation['parameters'], 'query').includes('list'),
    )

    expect(lists.length).toBeGreaterThan(15)
    for (const { at, operation } of lists) {
      const typeOf = (name: string) =>
        listOf(operation['parameters']).find((one) => String(one['name']) === name)?.['schema']?.['type']
      expect({ at, limit: typeOf('limit'), after: typeOf('after') }).toEqual({
        at,
        limit: 'integer',
        after: 'string',
      })
    }
  })

  test('tags are declared and described', () => {
    const declared = listOf(forRoot['tags'])

    expect(declared.every((tag) => String(tag['description']).length > 10)).toBe(true)
    expect(declared.map((tag) => String(tag['name']))).toEqual(
      [
        ...new Set(operationsOf(forRoot).flatMap(({ operation }) => listOf(operation['tags']).map(String))),
      ].sort(),
    )
  })

  test('only fields that must be sent are required', () => {
    const inputs = Object.entries(ofTypes.components?.['schemas'] ?? {}) as [string, Json][]
    const required = inputs.filter(
      ([name, { required }]) => name.endsWith('-input') && required !== undefined,
    )

    expect(Object.fromEntries(required.map(([name, input]) => [name, input['required']]))).toEqual({
      'approle-login-post-input': ['role_id'],
      'approle-role-role_name-custom-secret-id-post-input': ['secret_id'],
      'approle-role-role_name-secret-id-accessor-destroy-post-input': ['secret_id_accessor'],
      'approle-role-role_name-secret-id-accessor-lookup-post-input': ['secret_id_accessor'],
      'approle-role-role_name-secret-id-destroy-post-input': ['secret_id'],
      'approle-role-role_name-secret-id-lookup-post-input': ['secret_id'],
      'identity-entity-batch-delete-post-input': ['entity_ids'],
      'identity-entity-merge-post-input': ['to_entity_id', 'from_entity_ids'],
      'jwt-cel-login-post-input': ['jwt'],
      'jwt-cel-role-name-post-input': ['cel_program'],
      'jwt-login-post-input': ['jwt'],
      'kubernetes-login-post-input': ['role', 'jwt'],
      'kv-v2-copy-path-post-input': ['from'],
      'kv-v2-data-path-patch-input': ['data'],
      'kv-v2-data-path-post-input': ['data'],
      'kv-v2-delete-path-post-input': ['versions'],
      'kv-v2-destroy-path-post-input': ['versions'],
      'kv-v2-move-path-post-input': ['from'],
      'kv-v2-restore-path-post-input': ['version'],
      'kv-v2-undelete-path-post-input': ['versions'],
      'system-audit-hash-path-post-input': ['input'],
      'system-audit-path-post-input': ['type'],
      'system-capabilities-accessor-post-input': ['accessor'],
      'system-capabilities-post-input': ['token'],
      'system-config-cors-post-input': ['allowed_origins'],
      'system-config-ui-headers-header-post-input': ['values'],
      'system-config-ui-custom-messages-id-post-input': ['title', 'message', 'start_time'],
      'system-config-ui-custom-messages-post-input': ['title', 'message', 'start_time'],
      'system-config-ui-custom-messages-preview-post-input': ['title', 'message', 'start_time'],
      'system-leases-lookup-post-input': ['lease_id'],
      'system-leases-renew-post-input': ['lease_id'],
      'system-leases-revoke-post-input': ['lease_id'],
      'system-loggers-name-post-input': ['level'],
      'system-loggers-post-input': ['level'],
      'system-policies-acl-name-what-if-post-input': ['policy'],
      'system-policies-acl-path-post-input': ['policy'],
      'system-policies-explain-post-input': ['path'],
      'system-policies-password-name-post-input': ['policy'],
      'system-quotas-lease-count-name-post-input': ['max_leases'],
      'system-quotas-rate-limit-name-post-input': ['rate'],
      'system-remount-post-input': ['from', 'to'],
      'system-renew-post-input': ['lease_id'],
      'system-revoke-post-input': ['lease_id'],
      'token-lookup-accessor-post-input': ['accessor'],
      'token-renew-accessor-post-input': ['accessor'],
      'token-renew-post-input': ['token'],
      'token-revoke-accessor-post-input': ['accessor'],
      'token-revoke-orphan-post-input': ['token'],
      'token-revoke-post-input': ['token'],
      'userpass-login-username-post-input': ['password'],
    })
  })

  test('a field has one form, the most expressive on the wire, and its default', () => {
    expect(schema('jwt-role-name-post-input')).toMatchObject({
      properties: {
        bound_audiences: { type: 'array', items: { type: 'string' } },
        bound_claims: { type: 'object' },
      },
    })
    expect(schema('token-create-post-input')).toMatchObject({
      properties: { renewable: { type: 'boolean', default: true } },
    })
  })

  test('a secret is write-only and not a field of the response', () => {
    expect(schema('jwt-config-post-input')['properties']?.['oidc_client_secret']?.['writeOnly']).toBe(true)
    expect(schema('jwt-login-post-input')['properties']?.['jwt']?.['writeOnly']).toBe(true)
    expect(schema('jwt-config-get-data')['properties']).not.toHaveProperty('oidc_client_secret')
  })

  test.each([
    {
      at: '/sys/internal/ui/authenticated-messages',
      verb: 'get',
      id: 'internal-ui-read-authenticated-active-custom-messages',
    },
    {
      at: '/sys/internal/ui/unauthenticated-messages',
      verb: 'get',
      id: 'internal-ui-read-unauthenticated-active-custom-messages',
    },
    { at: '/sys/config/ui/custom-messages', verb: 'get', id: 'ui-config-list-custom-messages' },
    { at: '/sys/config/ui/custom-messages', verb: 'post', id: 'create-custom-message' },
    { at: '/sys/config/ui/custom-messages/{id}', verb: 'get', id: 'ui-config-read-custom-message' },
    { at: '/sys/config/ui/custom-messages/{id}', verb: 'post', id: 'ui-config-update-custom-message' },
    { at: '/sys/config/ui/custom-messages/{id}', verb: 'delete', id: 'ui-config-delete-custom-message' },
    { at: '/sys/auth', verb: 'get', id: 'auth-list-enabled-methods' },
    { at: '/sys/auth/{path}', verb: 'get', id: 'auth-read-configuration' },
    { at: '/sys/auth/{path}', verb: 'post', id: 'auth-enable-method' },
    { at: '/sys/auth/{path}', verb: 'delete', id: 'auth-disable-method' },
    { at: '/sys/auth/{path}/tune', verb: 'get', id: 'auth-read-tuning-information' },
    { at: '/sys/auth/{path}/tune', verb: 'post', id: 'auth-tune-configuration-parameters' },
    { at: '/sys/mounts', verb: 'get', id: 'mounts-list-secrets-engines' },
    { at: '/sys/mounts/{path}', verb: 'get', id: 'mounts-read-configuration' },
    { at: '/sys/mounts/{path}', verb: 'post', id: 'mounts-enable-secrets-engine' },
    { at: '/sys/mounts/{path}', verb: 'delete', id: 'mounts-disable-secrets-engine' },
    { at: '/sys/mounts/{path}/tune', verb: 'get', id: 'mounts-read-tuning-information' },
    { at: '/sys/mounts/{path}/tune', verb: 'post', id: 'mounts-tune-configuration-parameters' },
    { at: '/sys/remount', verb: 'post', id: 'remount' },
    { at: '/sys/remount/status/{migration_id}', verb: 'get', id: 'remount-status' },
  ])('$verb $at has the operation id that other clients know', ({ at, verb, id }) => {
    expect(operation(at, verb)['operationId']).toBe(id)
  })

  test.each([
    { at: '/sys/auth/{path}/tune', says: { 'x-vault-sudo': true } },
    { at: '/sys/mounts/{path}/tune', says: {} },
    { at: '/sys/seal', says: { 'x-vault-sudo': true } },
    { at: '/sys/health', says: { 'x-vault-unauthenticated': true } },
    { at: '/auth/jwt/login', says: { 'x-vault-unauthenticated': true } },
  ])('$at says as Vault does whether it needs a token and sudo', ({ at, says }) => {
    const item = Object.entries(forRoot['paths'] ?? {}).find(([one]) => one === at)

    const said = Object.entries(item?.[1] ?? {}).filter(([name]) => name.startsWith('x-'))
    expect(Object.fromEntries(said)).toEqual(says)
  })

  test('tuning a mount has its own fields', () => {
    const [enabled, tuned] = ['system-mounts-path-post-input', 'system-mounts-path-tune-post-input'].map(
      (name) => keysOf(schema(name)['properties']),
    )

    expect(enabled).toEqual(expect.arrayContaining(['type', 'config']))
    expect(enabled).not.toContain('max_lease_ttl')
    expect(tuned).toEqual(expect.arrayContaining(['max_lease_ttl', 'listing_visibility', 'description']))
    expect(tuned).not.toContain('type')
  })

  test('a path that takes any fields says so', () => {
    expect(schema('cubbyhole-path-post-input')).toMatchObject({ type: 'object', additionalProperties: {} })
  })
})
