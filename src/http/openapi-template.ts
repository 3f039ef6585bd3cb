import type { FastifySchema, HTTPMethods } from 'fastify'
import { fastify } from 'fastify'
import type { z } from 'zod'
import type { DocumentedAnswer, DocumentedRoute } from './documented-route.ts'
import { carrierOf } from './mount-router.ts'

/** A JSON Schema, or a reference to one. */
export type Schema = { readonly [keyword: string]: unknown }

export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

/** One operation of a path below a mount; what depends on the mount (id, tags) is added when a document is made. */
export type TemplateOperation = {
  /** Only where others know it by a name. */
  readonly operationId?: string
  readonly summary: string
  readonly description?: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, DocumentedResponse>>
  readonly security?: readonly object[]
}

type Example = { readonly value: unknown }
type DocumentedContent = { readonly schema: Schema; readonly example?: unknown; readonly examples?: Readonly<Record<string, Example>> }
type DocumentedResponse = {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: { readonly 'application/json'?: DocumentedContent; readonly 'text/html'?: DocumentedContent }
}

export type Verb = 'get' | 'post' | 'patch' | 'delete'

export type TemplatePath = {
  /** Below the mount: `/role/{name}`. */
  readonly path: string
  readonly at: 'v1' | 'root' | undefined
  readonly operations: Readonly<Partial<Record<Verb, TemplateOperation>>>
}

/** What the documents of all callers are made of. */
export type ApiTemplate = {
  readonly paths: ReadonlyMap<string, readonly TemplatePath[]>
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>
}

/** What @fastify/swagger writes for one operation. */
type SwaggerOperation = {
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>>
  readonly security?: readonly object[]
}
type SwaggerItem = Readonly<Partial<Record<'get' | 'search' | 'post' | 'patch' | 'delete', SwaggerOperation>>>

/**
 * Zod leaves out the default of a field with a transform; ours are in a form that may be sent, too (lib/fields.ts). And it closes the objects of answers,
 * to which later versions may add.
 */
export const withDefault = ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) => {
  if (zodSchema._zod.def.type === 'default') jsonSchema.default = zodSchema._zod.def.defaultValue as typeof jsonSchema.default
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}

const noToken: Record<DocumentedRoute['token'], readonly Record<string, readonly string[]>[] | undefined> = {
  required: undefined,
  optional: [{}, { token: [] }],
  none: [],
}

/**
 * The recorded routes as OpenAPI, by way of @fastify/swagger on an app of its own: the served one has no routes of its mounts' paths, and its start
 * must not wait for any of this.
 */
export async function buildTemplate(routes: readonly DocumentedRoute[]): Promise<ApiTemplate> {
  const [{ fastifySwagger }, { createJsonSchemaTransform }] = await Promise.all([import('@fastify/swagger'), import('fastify-type-provider-zod')])
  const app = fastify()
  app.addHttpMethod(carrierOf.list)
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: '', version: '' },
      components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Vault-Token' } } },
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig: { unrepresentable: 'any', override: withDefault } }),
  })
  for (const route of routes) {
    const security = noToken[route.token]
    const schema: FastifySchema = security === undefined ? route.schema : { ...route.schema, security }
    app.route({ method: route.method as HTTPMethods, url: `/${route.group}${route.path}`, schema, handler: async () => undefined })
  }
  await app.ready()
  // made by the plugin above from these routes alone, so it is an OpenAPI 3.1 document of such path items
  const { paths = {} } = app.swagger() as { paths?: Readonly<Record<string, SwaggerItem>> }
  return arranged(paths, new Map(routes.map((route) => [`${route.method} /${route.group}${route.path.replaceAll(/:(\w+)/g, '{$1}')}`, route])))
}

const carriers = ['get', 'search', 'post', 'patch', 'delete'] as const

function arranged(paths: Readonly<Record<string, SwaggerItem>>, routeOf: ReadonlyMap<string, DocumentedRoute>): ApiTemplate {
  const byGroup = new Map<string, TemplatePath[]>()
  const schemas: Record<string, object> = { ...sharedSchemas }
  for (const [path, item] of Object.entries(paths)) {
    const routes = carriers.map((verb) => routeOf.get(`${verb.toUpperCase()} ${path}`))
    const route = routes.find((one) => one !== undefined)
    if (route === undefined) throw new Error(`the API document has a path ${path} that no route has`)
    const group = byGroup.get(route.group) ?? []
    byGroup.set(route.group, group)
    const named = (verb: string) => `${slug(path)}-${verb}`
    const share = (name: string, schema: Schema): Schema => {
      schemas[name] = schema
      return { $ref: `#/components/schemas/${name}` }
    }
    const of = (verb: keyof SwaggerItem) => {
      const operation = item[verb]
      const { answer = {} } = routes[carriers.indexOf(verb)] ?? {}
      const form = route.at === undefined ? answer.form : 'bare'
      return (
        operation &&
        templateOperation(operation, {
          verb,
          mountType: route.group,
          answer: form === undefined ? answer : { ...answer, form },
          share: (schema, kind) => share(`${named(verb)}-${kind}`, schema),
        })
      )
    }
    const get = merged(of('get'), of('search'))
    const post = of('post')
    const patch = of('patch')
    const remove = of('delete')
    group.push({
      path: path.slice(route.group.length + 1),
      at: route.at,
      operations: { ...(get && { get }), ...(post && { post }), ...(patch && { patch }), ...(remove && { delete: remove }) },
    })
  }
  return { paths: byGroup, components: { schemas, responses: sharedResponses } }
}

type Naming = {
  verb: keyof SwaggerItem
  mountType: string
  answer: Omit<DocumentedAnswer, 'output'>
  share(schema: Schema, kind: 'input' | 'data'): Schema
}

function templateOperation(operation: SwaggerOperation, { verb, mountType, answer, share }: Naming): TemplateOperation {
  const body = operation.requestBody?.content['application/json']?.schema
  const data = operation.responses['200']?.content?.['application/json']?.schema
  const says = data !== undefined || answer.form !== undefined || verb === 'get' || verb === 'search'
  const { operationId, statuses = [says ? 200 : 204] } = answer
  const shared = data && share(data, 'data')
  return {
    ...(operationId === undefined ? {} : { operationId }),
    summary: operation.summary ?? '',
    ...(operation.description === undefined ? {} : { description: operation.description }),
    parameters: (operation.parameters ?? []).map((parameter) => parameterOf(parameter)),
    ...(body === undefined ? {} : { requestBody: { content: { 'application/json': { schema: share(nothingRequired(body), 'input') } } } }),
    responses: {
      ...Object.fromEntries(statuses.map((status) => [status, status === 200 ? answerOf(answer, shared, mountType) : wordless[status]])),
      default: { $ref: '#/components/responses/Error' },
    },
    ...(operation.security === undefined ? {} : { security: operation.security }),
  }
}

const wordless = {
  202: { $ref: '#/components/responses/Accepted' },
  204: { $ref: '#/components/responses/Done' },
  304: { $ref: '#/components/responses/NotModified' },
} as const

/** A field that is not sent has the zero value of its type (contract core-http §2.2): no schema demands one. */
function nothingRequired({ required: _, ...schema }: Schema): Schema {
  return schema
}

function parameterOf({ name, in: place, description, schema }: Parameter): Parameter {
  const { description: said = description, ...rest } = schema
  const shown = typeof said === 'string' ? { description: said } : {}
  return { name, in: place, ...(place === 'path' ? { required: true } : {}), ...shown, schema: rest }
}

function answerOf({ form, example, headers }: Naming['answer'], data: Schema | undefined, mountType: string): DocumentedResponse {
  const json = (schema: Schema, shown: unknown): DocumentedResponse => ({
    description: 'The answer',
    ...(headers && { headers: Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: text }])) }),
    content: { 'application/json': { schema, ...(shown === undefined ? {} : { example: shown }) } },
  })
  if (form === 'page') return { description: 'A page for a browser', content: { 'text/html': { schema: text } } }
  if (form === 'bare') return json(data ?? { type: 'object' }, example)
  const part = form === undefined ? undefined : envelopePart[form]
  const shown = { ...exampleEnvelope, data: example ?? null, ...part?.example, mount_type: form === 'wrapped' ? '' : mountType }
  const properties = { ...(data === undefined ? {} : { data }), ...part?.properties }
  const envelope = { $ref: '#/components/schemas/Envelope' }
  return json(Object.keys(properties).length === 0 ? envelope : { allOf: [envelope, { properties }] }, shown)
}

/** A list is a GET with `list=true`: where the path can be read too, both are one operation. Contract core-http §1.2. */
function merged(read: TemplateOperation | undefined, list: TemplateOperation | undefined): TemplateOperation | undefined {
  if (list === undefined) return read
  if (read === undefined) return { ...list, parameters: [...list.parameters, listParameter(true)] }
  const known = new Set(read.parameters.map((parameter) => parameter.name))
  return {
    ...read,
    summary: `${read.summary}; with list=true: ${list.summary}`,
    parameters: [...read.parameters, ...list.parameters.filter((parameter) => !known.has(parameter.name)), listParameter(false)],
    responses: { ...read.responses, 200: eitherOf(read.responses['200'], list.responses['200']) },
  }
}

function eitherOf(read: DocumentedResponse | undefined, list: DocumentedResponse | undefined): DocumentedResponse {
  const [first, second] = [read?.content?.['application/json'], list?.content?.['application/json']]
  if (first === undefined || second === undefined) throw new Error('a path is read and listed without an answer')
  const examples = { read: { value: first.example }, list: { value: second.example } }
  return { description: 'The answer', content: { 'application/json': { schema: { anyOf: [first.schema, second.schema] }, examples } } }
}

function listParameter(always: boolean): Parameter {
  const description = 'List what is below this path, as the verb LIST does'
  return { name: 'list', in: 'query', ...(always ? { required: true } : {}), description, schema: { type: 'string', enum: ['true'] } }
}

/** Text that identifiers may be made of. */
export const slug = (path: string): string => path.replaceAll(/[^A-Za-z0-9_]+/g, '-').replaceAll(/^-|-$/g, '')

const nullOr = (type: string) => ({ type: [type, 'null'] })
const text = { type: 'string' }
const texts = { type: 'array', items: text }
const wholeSeconds = { type: 'integer', description: 'Seconds' }

/** An object that has all of these. */
const whole = (properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []) => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
})

/** Contract core-http §1.5. */
const sharedSchemas = {
  Envelope: whole({
    request_id: text,
    lease_id: text,
    renewable: { type: 'boolean' },
    lease_duration: wholeSeconds,
    data: { ...nullOr('object'), description: 'The answer itself' },
    wrap_info: nullOr('object'),
    warnings: { type: ['array', 'null'], items: text },
    auth: { ...nullOr('object'), description: 'Token and rights, after a login, a creation or a renewal' },
    mount_type: text,
  }),
  Auth: whole(
    {
      client_token: text,
      accessor: text,
      policies: texts,
      token_policies: texts,
      identity_policies: texts,
      metadata: { ...nullOr('object'), additionalProperties: text },
      lease_duration: wholeSeconds,
      renewable: { type: 'boolean' },
      entity_id: text,
      token_type: { type: 'string', enum: ['service', 'batch'] },
      orphan: { type: 'boolean' },
      mfa_requirement: { type: 'null' },
      num_uses: { type: 'integer' },
    },
    ['token_policies', 'identity_policies'],
  ),
  WrapInfo: whole(
    {
      token: text,
      accessor: text,
      ttl: wholeSeconds,
      creation_time: { type: 'string', format: 'date-time' },
      creation_path: text,
      wrapped_accessor: text,
    },
    ['wrapped_accessor'],
  ),
  Errors: {
    type: 'object',
    required: ['errors'],
    properties: { errors: texts, request_id: { type: 'string', format: 'uuid', description: 'Of a refused login: what the log has it under' } },
  },
}

const json = (name: keyof typeof sharedSchemas, example: unknown) => ({
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` }, example } },
})

const exampleEnvelope = {
  request_id: '0c2a8f4e-6f0b-4f3a-9a51-0f6f2f4b7a10',
  lease_id: '',
  renewable: false,
  lease_duration: 0,
  data: null,
  wrap_info: null,
  warnings: null,
  auth: null,
  mount_type: 'system',
}

/** What stands beside `data` in answers that give a token. Contract tokens §3.2, core-http §9.2. */
const envelopePart = {
  auth: {
    properties: { auth: { $ref: '#/components/schemas/Auth' } },
    example: {
      auth: {
        client_token: 'hvs.CAESIExampleExampleExample',
        accessor: 'hmac8Xn2s7Lq0vYpTr4KdE1b',
        policies: ['default', 'deploy'],
        token_policies: ['default', 'deploy'],
        metadata: { role: 'ci' },
        lease_duration: 3600,
        renewable: true,
        entity_id: 'c1f5bd07-3c0a-4b52-8e5e-7b3b0f6b1f7d',
        token_type: 'service',
        orphan: true,
        mfa_requirement: null,
        num_uses: 0,
      },
    },
  },
  wrapped: {
    properties: { wrap_info: { $ref: '#/components/schemas/WrapInfo' } },
    example: {
      request_id: '',
      wrap_info: {
        token: 'hvs.CAESIExampleExampleExample',
        accessor: 'hmac8Xn2s7Lq0vYpTr4KdE1b',
        ttl: 60,
        creation_time: '2026-01-01T12:00:00.5Z',
        creation_path: 'sys/wrapping/wrap',
      },
    },
  },
}

const sharedResponses = {
  Accepted: { description: 'Goes on in the background; the body, if any, is an envelope' },
  Done: { description: 'Done; there is nothing to say' },
  NotModified: { description: 'What the client has still holds' },
  Error: { description: 'What was wrong', ...json('Errors', { errors: ['permission denied'] }) },
}
