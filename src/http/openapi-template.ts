import type { FastifySchema, HTTPMethods } from 'fastify'
import { fastify } from 'fastify'
import type { z } from 'zod'
import type { DocumentedRoute } from './documented-route.ts'
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
  readonly summary: string
  readonly description?: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, object>>
  readonly security?: readonly object[]
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

/** Zod leaves out the default of a field with a transform; ours are in a form that may be sent, too (lib/fields.ts). */
export const withDefault = ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) => {
  if (zodSchema._zod.def.type === 'default') jsonSchema.default = zodSchema._zod.def.defaultValue as typeof jsonSchema.default
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
  return arranged(paths, new Map(routes.map((route) => [`/${route.group}${route.path.replaceAll(/:(\w+)/g, '{$1}')}`, route])))
}

function arranged(paths: Readonly<Record<string, SwaggerItem>>, routeOf: ReadonlyMap<string, DocumentedRoute>): ApiTemplate {
  const byGroup = new Map<string, TemplatePath[]>()
  const schemas: Record<string, object> = { ...sharedSchemas }
  for (const [path, item] of Object.entries(paths)) {
    const route = routeOf.get(path)
    if (route === undefined) throw new Error(`the API document has a path ${path} that no route has`)
    const group = byGroup.get(route.group) ?? []
    byGroup.set(route.group, group)
    const named = (verb: string) => `${slug(path)}-${verb}`
    const share = (name: string, schema: Schema): Schema => {
      schemas[name] = schema
      return { $ref: `#/components/schemas/${name}` }
    }
    const plain = route.at !== undefined
    const of = (verb: keyof SwaggerItem) => {
      const operation = item[verb]
      return operation && templateOperation(operation, { verb, plain, share: (schema, kind) => share(`${named(verb)}-${kind}`, schema) })
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
  /** Answered without envelope. */
  plain: boolean
  share(schema: Schema, kind: 'input' | 'data'): Schema
}

function templateOperation(operation: SwaggerOperation, { verb, plain, share }: Naming): TemplateOperation {
  const body = operation.requestBody?.content['application/json']?.schema
  const data = operation.responses['200']?.content?.['application/json']?.schema
  return {
    summary: operation.summary ?? '',
    ...(operation.description === undefined ? {} : { description: operation.description }),
    parameters: (operation.parameters ?? []).map((parameter) => parameterOf(parameter)),
    ...(body === undefined ? {} : { requestBody: { content: { 'application/json': { schema: share(nothingRequired(body), 'input') } } } }),
    responses: {
      ...(verb === 'delete' ? {} : { 200: answerOf(plain, data && share(data, 'data')) }),
      ...(verb === 'post' || verb === 'delete' ? { 204: { $ref: '#/components/responses/Done' } } : {}),
      default: { $ref: '#/components/responses/Error' },
    },
    ...(operation.security === undefined ? {} : { security: operation.security }),
  }
}

/** A field that is not sent has the zero value of its type (contract core-http §2.2): no schema demands one. */
function nothingRequired({ required: _, ...schema }: Schema): Schema {
  return schema
}

function parameterOf({ name, in: place, description, schema }: Parameter): Parameter {
  const { description: said = description, ...rest } = schema
  const shown = typeof said === 'string' ? { description: said } : {}
  return { name, in: place, ...(place === 'path' ? { required: true } : {}), ...shown, schema: rest }
}

function answerOf(plain: boolean, data: Schema | undefined): object {
  if (plain) return { description: 'The answer', content: { 'application/json': { schema: data ?? { type: 'object' } } } }
  if (data === undefined) return { $ref: '#/components/responses/Answer' }
  const schema = { allOf: [{ $ref: '#/components/schemas/Envelope' }, { properties: { data } }] }
  return { description: 'The answer', content: { 'application/json': { schema } } }
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
    responses: { ...read.responses, 200: { $ref: '#/components/responses/Answer' } },
  }
}

function listParameter(always: boolean): Parameter {
  const description = 'List what is below this path, as the verb LIST does'
  return { name: 'list', in: 'query', ...(always ? { required: true } : {}), description, schema: { type: 'string', enum: ['true'] } }
}

/** Text that identifiers may be made of. */
export const slug = (path: string): string => path.replaceAll(/[^A-Za-z0-9_]+/g, '-').replaceAll(/^-|-$/g, '')

const nullOr = (type: string) => ({ type: [type, 'null'] })

const sharedSchemas = {
  Envelope: {
    type: 'object',
    properties: {
      request_id: { type: 'string' },
      lease_id: { type: 'string' },
      renewable: { type: 'boolean' },
      lease_duration: { type: 'integer', description: 'Seconds' },
      data: { ...nullOr('object'), description: 'The answer itself' },
      wrap_info: nullOr('object'),
      warnings: { type: ['array', 'null'], items: { type: 'string' } },
      auth: { ...nullOr('object'), description: 'Token and rights, after a login, a creation or a renewal' },
      mount_type: { type: 'string' },
    },
  },
  Errors: { type: 'object', required: ['errors'], properties: { errors: { type: 'array', items: { type: 'string' } } } },
}

const sharedResponses = {
  Answer: { description: 'The answer', content: { 'application/json': { schema: { $ref: '#/components/schemas/Envelope' } } } },
  Done: { description: 'Done; there is nothing to say' },
  Error: { description: 'What was wrong', content: { 'application/json': { schema: { $ref: '#/components/schemas/Errors' } } } },
}
