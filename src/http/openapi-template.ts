import type { FastifySchema, HTTPMethods } from 'fastify'
import { fastify } from 'fastify'
import type { z } from 'zod'
import type { DocumentedAnswer, DocumentedRoute } from './documented-route.ts'
import { documentedMethod } from './documented-route.ts'
import { envelopeOf, exampleEnvelope, sharedResponses, sharedSchemas } from './openapi-envelope.ts'
import { captures, explainFields } from './openapi-words.ts'
import {
  changeSchemas,
  open,
  type Schema,
  shortNull,
  text,
  withoutEmptyDefault,
  withoutPattern,
} from './openapi-schema.ts'

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required?: boolean
  readonly description?: string
  readonly example?: string | number
  readonly schema: Schema
}

/** One operation of a path below a mount. A document adds what depends on the mount: id and tags. */
export type TemplateOperation = {
  /** Set if clients of Vault's document know the operation by this id. */
  readonly operationId?: string
  /** A list, requested with GET. */
  readonly isList?: true
  readonly summary: string
  readonly description?: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, DocumentedResponse>>
  readonly security?: readonly object[]
}

type Example = { readonly value: unknown }
type DocumentedContent = {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, Example>>
}
type DocumentedResponse = {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: {
    readonly 'application/json'?: DocumentedContent
    readonly 'text/html'?: DocumentedContent
  }
}

export type Verb = 'get' | 'post' | 'patch' | 'delete'

export type TemplatePath = {
  /** Below the mount: `/role/{name}`. */
  readonly path: string
  readonly at: 'v1' | 'root' | undefined
  readonly operations: Readonly<Partial<Record<Verb, TemplateOperation>>>
}

/** The parts from which the documents of all callers are made. */
export type ApiTemplate = {
  readonly paths: ReadonlyMap<string, readonly TemplatePath[]>
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>
}

/** One operation in the output of @fastify/swagger. */
type SwaggerOperation = {
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
  readonly security?: readonly object[]
}
type SwaggerItem = Readonly<Partial<Record<'get' | 'search' | 'post' | 'patch' | 'delete', SwaggerOperation>>>

/**
 * Zod leaves out the default of a field with a transform; ours are in a form that may be sent, too
 * (lib/fields.ts). And it closes the objects of answers, to which later versions may add.
 */
export const withDefault = ({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: z.core.JSONSchema.BaseSchema
}) => {
  if (zodSchema._zod.def.type === 'default')
    jsonSchema.default = zodSchema._zod.def.defaultValue as typeof jsonSchema.default
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}

const noToken: Record<DocumentedRoute['token'], readonly Record<string, readonly string[]>[] | undefined> = {
  required: undefined,
  optional: [{}, { token: [] }],
  none: [],
}

/**
 * The recorded routes as OpenAPI, by way of @fastify/swagger on an app of its own: the served one has no
 * routes of its mounts' paths, and its start must not wait for any of this.
 */
export async function buildTemplate(routes: readonly DocumentedRoute[]): Promise<ApiTemplate> {
  const [{ fastifySwagger }, { createJsonSchemaTransform }] = await Promise.all([
    import('@fastify/swagger'),
    import('fastify-type-provider-zod'),
  ])
  const app = fastify()
  app.addHttpMethod(documentedMethod.list)
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: '', version: '' },
      components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Vault-Token' } } },
    },
    transform: createJsonSchemaTransform({
      zodToJsonConfig: { unrepresentable: 'any', override: withDefault },
    }),
  })
  for (const route of routes) {
    const security = noToken[route.token]
    const schema: FastifySchema = security === undefined ? route.schema : { ...route.schema, security }
    app.route({
      method: route.method as HTTPMethods,
      url: `/${route.group}${route.path}`,
      schema,
      handler: async () => undefined,
    })
  }
  await app.ready()
  // made by the plugin above from these routes alone, so it is an OpenAPI 3.1 document of such path items
  const { paths = {} } = app.swagger() as { paths?: Readonly<Record<string, SwaggerItem>> }
  return arranged(
    paths,
    new Map(
      routes.map((route) => [
        `${route.method} /${route.group}${route.path.replaceAll(/:(\w+)/g, '{$1}')}`,
        route,
      ]),
    ),
  )
}

const carriers = ['get', 'search', 'post', 'patch', 'delete'] as const

function arranged(
  paths: Readonly<Record<string, SwaggerItem>>,
  routeOf: ReadonlyMap<string, DocumentedRoute>,
): ApiTemplate {
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
    const read = of('get')
    const listed = of('search')
    const list = listed && asList(listed)
    const post = of('post')
    const patch = of('patch')
    const remove = of('delete')
    const below = path.slice(route.group.length + 1)
    group.push({
      path: below,
      at: route.at,
      operations: {
        ...((read ?? list) && { get: read ?? list }),
        ...(post && { post }),
        ...(patch && { patch }),
        ...(remove && { delete: remove }),
      },
    })
    if (read !== undefined && list !== undefined)
      group.push({ path: `${below}/`, at: route.at, operations: { get: list } })
  }
  for (const group of byGroup.keys()) {
    const samples = [...routeOf.values()].flatMap((route) =>
      route.group === group && route.answer?.example !== undefined ? [route.answer.example] : [],
    )
    explainFields(schemas, group, samples)
  }
  return { paths: byGroup, components: { schemas, responses: sharedResponses } }
}

type Naming = {
  verb: keyof SwaggerItem
  mountType: string
  answer: Omit<DocumentedAnswer, 'output'>
  share(schema: Schema, kind: 'input' | 'data' | 'answer'): Schema
}

function templateOperation(operation: SwaggerOperation, naming: Naming): TemplateOperation {
  const { verb, answer, share } = naming
  const body = operation.requestBody?.content['application/json']?.schema
  const data = operation.responses['200']?.content?.['application/json']?.schema
  const says = data !== undefined || answer.form !== undefined || verb === 'get' || verb === 'search'
  const { operationId, statuses = [says ? 200 : 204] } = answer
  const shared =
    data && share(changeSchemas(data, (inner) => open(withoutPattern(shortNull(inner)))) as Schema, 'data')
  return {
    ...(operationId === undefined ? {} : { operationId }),
    summary: operation.summary ?? '',
    ...(operation.description === undefined ? {} : { description: operation.description }),
    parameters: (operation.parameters ?? []).map((parameter) => parameterOf(parameter)),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: (answer.required ?? []).length > 0,
            content: { 'application/json': { schema: share(inputSchema(body, answer.required), 'input') } },
          },
        }),
    responses: {
      ...Object.fromEntries(
        statuses.map((status) => [
          status,
          status === 200 ? answerOf(answer, { ...naming, data: shared }) : wordless[status],
        ]),
      ),
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

/**
 * What a body may hold. A field that is not sent has the zero value of its type (docs/contract/http.md), so
 * only those are required whose absence is always refused.
 */
function inputSchema({ required: _, ...schema }: Schema, required: readonly string[] = []): Schema {
  const fields = changeSchemas(schema, (inner) =>
    withoutEmptyDefault(withoutPattern(shortNull(inner))),
  ) as Schema
  return required.length === 0 ? fields : { ...fields, required }
}

function parameterOf({ name, in: place, description, schema }: Parameter): Parameter {
  const { description: said = description, ...rest } = schema
  const known = place === 'path' ? captures[name] : undefined
  const shown = { ...(typeof said === 'string' ? { description: said } : {}), ...known }
  return {
    name,
    in: place,
    ...(place === 'path' ? { required: true } : {}),
    ...shown,
    schema: withoutEmptyDefault(rest),
  }
}

function answerOf(
  { form, example, headers }: Naming['answer'],
  { data, mountType, share }: { data: Schema | undefined } & Naming,
): DocumentedResponse {
  if (form === 'page')
    return { description: 'A page for a browser', content: { 'text/html': { schema: text } } }
  const shown = form === 'bare' ? example : exampleEnvelope(form, example, mountType)
  const schema = form === 'bare' ? (data ?? { type: 'object' }) : share(envelopeOf(form, data), 'answer')
  return {
    description: 'The answer',
    ...(headers && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, description]) => [name, { description, schema: text }]),
      ),
    }),
    content: { 'application/json': { schema, ...(shown === undefined ? {} : { example: shown }) } },
  }
}

/**
 * A list is a GET with `list=true`. Where the path can be read too, it stands under the path with a slash at
 * the end, which is the same to the server.
 */
const asList = (list: TemplateOperation): TemplateOperation => ({
  ...list,
  isList: true,
  parameters: [...list.parameters, listParameter],
})

const listParameter: Parameter = {
  name: 'list',
  in: 'query',
  required: true,
  description: 'List what is below this path, as the verb LIST does',
  schema: { type: 'string', enum: ['true'] },
}

/** Converts a path to a text that is valid in identifiers. */
export const slug = (path: string): string => path.replaceAll(/[^A-Za-z0-9_]+/g, '-').replaceAll(/^-|-$/g, '')
