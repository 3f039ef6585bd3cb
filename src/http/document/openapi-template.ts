import { z } from 'zod'
import { pagesOf } from '../../lib/data/pages.ts'
import { mergePatchType } from '../exchange/body.ts'
import type { DocumentedAnswer, DocumentedRoute } from '../resource/documented-route.ts'
import { envelopeOf, exampleEnvelope, sharedResponses, sharedSchemas } from './openapi-envelope.ts'
import {
  changeSchemas,
  open,
  type Schema,
  shortNull,
  text,
  withOptionalMaps,
  withoutEmptyDefault,
  withoutPattern,
} from './openapi-schema.ts'
import { captureOf, explainFields } from './openapi-words.ts'

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly example?: string | number
  readonly schema: Schema
}

/** One operation of a path below a mount. A document adds what depends on the mount: id and tags. */
export type TemplateOperation = {
  /** Set if clients of Vault's document know the operation by this id. */
  readonly operationId?: string
  /** Whether it is a list, requested with GET. */
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
    readonly 'application/octet-stream'?: DocumentedContent
    readonly 'text/plain'?: DocumentedContent
  }
}

export type Verb = 'get' | 'post' | 'patch' | 'delete'

/** What clients of Vault's document look for at a path. */
type PathNeeds = { readonly 'x-vault-sudo'?: true; readonly 'x-vault-unauthenticated'?: true }

export type TemplatePath = {
  /** Below the mount: `/role/{name}`. */
  readonly path: string
  readonly at: 'v1' | 'root' | undefined
  readonly needs: PathNeeds
  readonly operations: Readonly<Partial<Record<Verb, TemplateOperation>>>
}

/** The parts from which the documents of all callers are made. */
export type ApiTemplate = {
  readonly paths: ReadonlyMap<string, readonly TemplatePath[]>
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>
}

/**
 * Adds the defaults and examples of fields with a transform, which zod omits; ours can also be sent
 * (lib/text/fields.ts). And opens the objects of responses, which later versions may extend.
 */
export const withDefault = ({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: z.core.JSONSchema.BaseSchema
}) => {
  if (zodSchema._zod.def.type === 'default')
    jsonSchema.default = sentDefault(jsonSchema, zodSchema._zod.def.defaultValue)
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  const { examples } = z.globalRegistry.get(zodSchema) ?? {}
  if (Array.isArray(examples)) jsonSchema.examples = examples
}

/** A duration is a text on the wire, and a number of seconds in the server. */
const sentDefault = ({ type }: z.core.JSONSchema.BaseSchema, value: unknown) =>
  (type === 'string' && typeof value === 'number'
    ? String(value)
    : value) as z.core.JSONSchema.BaseSchema['default']

const noToken: Record<DocumentedRoute['token'], readonly Record<string, readonly string[]>[] | undefined> = {
  required: undefined,
  optional: [{}, { token: [] }],
  none: [],
}

/** Schemas take long to make: other requests are served after so many paths. */
const pathsAtOnce = 4

/** The documented routes as OpenAPI. */
export async function buildTemplate(routes: readonly DocumentedRoute[]): Promise<ApiTemplate> {
  const paths = new Map<string, TemplatePath[]>()
  const schemas: Record<string, object> = { ...sharedSchemas }
  for (const [group, ofGroup] of Map.groupBy(routes, (route) => route.group)) {
    const byPath = Map.groupBy(ofGroup, ({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))
    const ofMount: TemplatePath[] = []
    for await (const page of pagesOf([...byPath], pathsAtOnce))
      for (const [path, ofPath] of page) ofMount.push(...templatePaths(path, ofPath, schemas))
    paths.set(group, ofMount)
    const samples = ofGroup.flatMap(({ answer }) => answer?.example ?? [])
    explainFields(schemas, group, samples)
  }
  return { paths, components: { schemas, responses: sharedResponses } }
}

/** The path with its operations. If it can be both read and listed, the list is a path of its own. */
function templatePaths(
  path: string,
  routes: readonly DocumentedRoute[],
  schemas: Record<string, object>,
): TemplatePath[] {
  const of = (method: DocumentedRoute['method']) => {
    const route = routes.findLast((one) => one.method === method)
    const share: Share = (schema, kind) => {
      const name = `${slug(`${route?.group}${path}`)}-${method.toLowerCase()}-${kind}`
      schemas[name] = schema
      return { $ref: `#/components/schemas/${name}` }
    }
    return route && templateOperation(route, share)
  }
  const at = routes[0]?.at
  const read = of('GET')
  const listed = of('SEARCH')
  const list = listed && asList(listed)
  const get = read ?? list
  const post = of('POST')
  const patch = of('PATCH')
  const remove = of('DELETE')
  const operations = {
    ...(get && { get }),
    ...(post && { post }),
    ...(patch && { patch }),
    ...(remove && { delete: remove }),
  }
  const needs = needsOf(routes)
  const ownList = read && list && { path: `${path}/`, at, needs, operations: { get: list } }
  return [{ path, at, needs, operations }, ...(ownList ? [ownList] : [])]
}

const needsOf = (routes: readonly DocumentedRoute[]): PathNeeds => ({
  ...(routes.some(({ sudo }) => sudo === true) && { 'x-vault-sudo': true }),
  ...(routes.every(({ token }) => token !== 'required') && { 'x-vault-unauthenticated': true }),
})

/** Puts a schema among the components and returns a reference to it. */
type Share = (schema: Schema, kind: 'input' | 'data' | 'answer' | 'missing-answer') => Schema

function templateOperation(route: DocumentedRoute, share: Share): TemplateOperation {
  const { method, summary, description, params, query, body, output, answer = {} } = route
  const form = route.at === undefined ? answer.form : 'bare'
  const data = output && share(dataSchema(output), 'data')
  const says = data !== undefined || form !== undefined || method === 'GET' || method === 'SEARCH'
  const { operationId, required = [], statuses = [says ? 200 : 204], requestHeaders = {} } = answer
  const security = noToken[route.token]
  return {
    ...(operationId === undefined ? {} : { operationId }),
    summary,
    ...(description === undefined ? {} : { description }),
    parameters: [
      ...parametersOf('query', query, route.path),
      ...parametersOf('path', params, route.path),
      ...headerParameters(requestHeaders),
    ],
    ...(body && {
      requestBody: {
        required: required.length > 0,
        content: {
          [method === 'PATCH' ? mergePatchType : 'application/json']: {
            schema: share(inputSchema(body, required), 'input'),
          },
        },
      },
    }),
    responses: {
      ...Object.fromEntries(
        statuses.map((status) => [
          status,
          status === 200
            ? answerOf({ ...answer, form }, { data, mountType: route.group, share })
            : wordless[status],
        ]),
      ),
      ...(answer.missing && { 404: missingAnswer(answer.missing, { mountType: route.group, share }) }),
      default: { $ref: '#/components/responses/Error' },
    },
    ...(security && { security }),
  }
}

function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: withDefault,
  })
  return rest
}

const dataSchema = (output: z.ZodType): Schema =>
  changeSchemas(jsonSchemaOf(output, 'output'), (inner) =>
    withOptionalMaps(open(withoutPattern(shortNull(inner)))),
  ) as Schema

/**
 * The schema of a body. An absent field has the zero value of its type (docs/contract/http.md), so only
 * fields without which the call is always refused are required.
 */
function inputSchema(body: z.ZodObject, required: readonly string[]): Schema {
  const { required: _, ...schema } = jsonSchemaOf(body, 'input')
  const fields = changeSchemas(schema, (inner) =>
    withoutEmptyDefault(withoutPattern(shortNull(inner))),
  ) as Schema
  return required.length === 0 ? fields : { ...fields, required }
}

/** A parameter for each member. */
function parametersOf(place: 'query' | 'path', members: z.ZodObject | undefined, url: string): Parameter[] {
  if (members === undefined) return []
  // in JSON Schema, an object has its members' schemas here
  const properties = jsonSchemaOf(members, 'input')['properties'] as Readonly<Record<string, Schema>>
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    ...(place === 'path' ? { required: true } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    ...(place === 'path' ? captureOf(url, name) : undefined),
    schema: withoutEmptyDefault(schema),
  }))
}

const headerParameters = (headers: Readonly<Record<string, string>>): Parameter[] =>
  Object.entries(headers).map(([name, description]) => ({ name, in: 'header', description, schema: text }))

const wordless = {
  202: { $ref: '#/components/responses/Accepted' },
  204: { $ref: '#/components/responses/Done' },
  304: { $ref: '#/components/responses/NotModified' },
} as const

const binary = { type: 'string', format: 'binary' } as const

function answerOf(
  { form, example, headers }: Omit<DocumentedAnswer, 'output'>,
  { data, mountType, share }: { data: Schema | undefined; mountType: string; share: Share },
): DocumentedResponse {
  if (form === 'page')
    return { description: 'A page for a browser', content: { 'text/html': { schema: text } } }
  if (form === 'text') return { description: 'Plain text', content: { 'text/plain': { schema: text } } }
  if (form === 'file')
    return { description: 'A file', content: { 'application/octet-stream': { schema: binary } } }
  const shown = form === 'bare' ? example : exampleEnvelope(form, example, mountType)
  const schema = form === 'bare' ? (data ?? { type: 'object' }) : share(envelopeOf(form, data), 'answer')
  return {
    description: 'The response',
    ...(headers && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, description]) => [name, { description, schema: text }]),
      ),
    }),
    content: { 'application/json': { schema, ...(shown === undefined ? {} : { example: shown }) } },
  }
}

function missingAnswer(
  { description, output, example }: NonNullable<DocumentedAnswer['missing']>,
  { mountType, share }: { mountType: string; share: Share },
): DocumentedResponse {
  const schema = share(envelopeOf(undefined, dataSchema(output)), 'missing-answer')
  const shown = exampleEnvelope(undefined, example, mountType)
  return { description, content: { 'application/json': { schema, example: shown } } }
}

/**
 * A list is a GET with `list=true`. If the path can also be read, the list is documented under the path with
 * a trailing slash, which is equivalent.
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
