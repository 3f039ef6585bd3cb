import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { Cache } from '../../lib/data/cache.ts'
import { pagesOf } from '../../lib/data/pages.ts'
import type { DocumentedRoute } from '../resource/documented-route.ts'
import {
  type ApiTemplate,
  buildTemplate,
  slug,
  type TemplateOperation,
  type TemplatePath,
  type Verb,
} from './openapi-template.ts'

/** Where a plugin's routes appear in a document. */
export type DocumentedPlace = {
  /** The plugin whose routes these are. */
  readonly group: string
  /** Path of the mount, with its trailing slash. */
  readonly path: string
  /** If set, the mount path is a parameter of this name, with `path` as its default. */
  readonly parameter?: string
  /** `auth/` if the parameter is only the rest of the path. */
  readonly before?: string
}

/** A document as it is sent. */
type WrittenDocument = { readonly body: Buffer; readonly etag: string }

/**
 * OpenAPI documents of the served routes, one for each caller's view of the mounts. docs/operations.md#health
 */
export class ApiDocument {
  readonly #version: string
  #routes: () => readonly DocumentedRoute[] = () => []
  #template: Promise<ApiTemplate> | undefined
  /** By digests of the places that they show: the views of few groups of callers. */
  readonly #written = new Cache<WrittenDocument>({
    name: 'API documents',
    most: 1_000,
    mostWeight: 64 * 1024 * 1024,
    weigh: ({ body }) => body.length,
  })

  constructor(version: string) {
    this.#version = version
  }

  /** Sets the routes that it describes, before the first document is requested. */
  cover(routes: () => readonly DocumentedRoute[]): void {
    this.#routes = routes
  }

  /** An OpenAPI 3.1 document with the paths of the first 500 of these mounts, and those of no mount. */
  async describe(places: readonly DocumentedPlace[]): Promise<object> {
    const template = await this.#templates()
    return documentOf(template, { places: places.slice(0, mostPlaces), version: this.#version })
  }

  /** The same as it is sent: one buffer for all callers who see these mounts. */
  write(places: readonly DocumentedPlace[]): Promise<WrittenDocument> {
    const view = digestOf(JSON.stringify(places.slice(0, mostPlaces)))
    return this.#written.readShared(view, async () => {
      const body = Buffer.from(JSON.stringify(await this.describe(places)))
      return { body, etag: `"${digestOf(body)}"` }
    })
  }

  /**
   * The same for one path, given as its template below the mount (`/role/:name`). Null: the document does not
   * describe it.
   */
  async describePath(place: DocumentedPlace, path: string): Promise<object | null> {
    const { paths, components } = await this.#templates()
    const wanted = path.replace('*', ':path').replaceAll(/:(\w+)/g, '{$1}')
    const found = paths.get(place.group)?.find((one) => one.path === wanted)
    if (found === undefined) return null
    const shown = place.path === '' ? '' : shownPrefix(place)
    const item = pathItem(found, { shown, tag: place.group, ids: new Set() })
    return aroundPaths({ [shown + found.path]: item }, referred([item], components), this.#version)
  }

  /** Made once. */
  #templates(): Promise<ApiTemplate> {
    this.#template ??= buildTemplate(this.#routes())
    return this.#template
  }
}

const digestOf = (data: string | Buffer): string =>
  createHash('sha256').update(data).digest('base64url').slice(0, 22)

/** The components that these paths reference, directly or indirectly. */
function referred(
  paths: readonly object[],
  components: ApiTemplate['components'],
): ApiTemplate['components'] {
  const found = new Set<object>()
  const open = [...paths]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const [, kind = '', name = ''] of JSON.stringify(at).matchAll(
      /"\$ref":"#\/components\/(\w+)\/([^"/]+)"/g,
    )) {
      const component = components[kind]?.[name]
      if (component === undefined || found.has(component)) continue
      found.add(component)
      open.push(component)
    }
  }
  return Object.fromEntries(
    Object.entries(components).map(([kind, named]) => [
      kind,
      Object.fromEntries(Object.entries(named).filter(([, component]) => found.has(component))),
    ]),
  )
}

/** Limit of mounts in a document: each costs time and memory. */
const mostPlaces = 500
/** Other requests are served after so many mounts. */
const placesAtOnce = 10

async function documentOf(
  template: ApiTemplate,
  { places, version }: { places: readonly DocumentedPlace[]; version: string },
): Promise<object> {
  const paths: Record<string, object> = {}
  const ids = new Set<string>()
  for (const path of template.paths.get('node') ?? [])
    paths[path.path] = pathItem(path, { shown: '', tag: 'node', ids })
  for await (const page of pagesOf(places, placesAtOnce))
    for (const place of page) {
      const shown = shownPrefix(place)
      for (const path of template.paths.get(place.group) ?? [])
        paths[shown + path.path] = pathItem(path, { shown, tag: place.group, ids, place })
    }
  const groups = new Set(['node', ...places.map(({ group }) => group)])
  const described = [...groups].flatMap((group) => template.paths.get(group) ?? [])
  return aroundPaths(paths, referred(described, template.components), version)
}

function aroundPaths(
  paths: Record<string, object>,
  components: ApiTemplate['components'],
  version: string,
): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Gatehouse', description, version, license: { name: 'MPL-2.0', identifier: 'MPL-2.0' } },
    servers: [{ url: '/v1' }],
    security: [{ token: [] }],
    tags: tagsOf(paths),
    paths,
    components: { ...components, securitySchemes: { token: tokenScheme } },
  }
}

const description = `Secrets management over HTTP: logins by signed JWT and OpenID Connect, tokens, policies, leases, and cloud credentials on demand.

The body of a write is a JSON object. Where a field has several forms on the wire, this document names the most expressive one. Most answers are envelopes, whose
members \`data\`, \`auth\` and \`wrap_info\` are null where this document does not name them. Errors are always \`{"errors": ["…"]}\`.`

const tokenScheme = {
  type: 'apiKey',
  in: 'header',
  name: 'X-Vault-Token',
  description:
    'The token of a login, or a JWT where a mount takes it as a token; Authorization: Bearer works too. Without one, a request may carry a login in X-Vault-Inline-Auth-Path and X-Vault-Inline-Auth-Parameter-… headers',
}

const tagDescriptions: Readonly<Record<string, string>> = {
  node: 'State of the server itself: health, seal, metrics',
  system: 'Mounts, policies, leases, namespaces, wrapping, messages, tools',
  token: 'Tokens: create, look up, renew, revoke',
  jwt: 'Logins by signed JWT and through an OpenID provider, and why they fail',
  identity: 'Entities, aliases, groups and identity tokens',
  cloud: 'Cloud credentials on demand',
  cubbyhole: 'A private store for each token',
}

function tagsOf(paths: Record<string, object>): object[] {
  const used = new Set(
    Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap((operation: { tags?: string[] }) => operation.tags ?? []),
    ),
  )
  return [...used]
    .sort()
    .map((name) => ({ name, description: tagDescriptions[name] ?? `Mounts of type ${name}` }))
}

type Standing = { shown: string; tag: string; ids: Set<string>; place?: DocumentedPlace }

function pathItem(
  { path, at, needs, operations }: TemplatePath,
  { shown, tag, ids, place }: Standing,
): object {
  const item: Record<string, unknown> = { ...(at === 'root' && { servers: [{ url: '/' }] }), ...needs }
  // Object.entries widens the key type to string
  for (const [verb, { isList = false, ...told }] of Object.entries(operations) as [
    Verb,
    TemplateOperation,
  ][]) {
    const id = told.operationId ?? `${slug(`${shown}/${path}`)}-${isList ? 'list' : wordOf[verb]}`
    item[verb] = { ...withMount(told, place), operationId: fresh(id, ids), tags: [tag] }
  }
  return item
}

const wordOf: Record<Verb, string> = { get: 'read', post: 'write', patch: 'patch', delete: 'delete' }

/** A unique id: paths that differ only in punctuation have the same slug. */
function fresh(id: string, taken: Set<string>): string {
  let free = id
  for (let number = 2; taken.has(free); number++) free = `${id}-${number}`
  taken.add(free)
  return free
}

/**
 * `/auth/jwt`, or with a parameter `/auth/{jwt_mount_path}`. A brace in a mount's own path is no parameter.
 */
function shownPrefix({ path, parameter, before = '' }: DocumentedPlace): string {
  if (parameter !== undefined) return `/${before}{${parameter}}`
  return `/${path.slice(0, -1).split('/').map(encodeURIComponent).join('/')}`
}

function withMount(operation: TemplateOperation, place: DocumentedPlace | undefined): TemplateOperation {
  if (place?.parameter === undefined) return operation
  const example = place.path.slice((place.before ?? '').length, -1)
  const mount = {
    name: place.parameter,
    in: 'path',
    required: true,
    description: 'Path of the mount',
    example,
    schema: { type: 'string', default: example },
  } as const
  return { ...operation, parameters: [mount, ...operation.parameters] }
}
