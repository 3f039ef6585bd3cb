import type { FastifyInstance, FastifySchema } from 'fastify'
import type { z } from 'zod'

/** What the API document says of the answer of a verb. */
export type DocumentedAnswer = {
  /** Shape of `data` in the answer, or of the whole of one that is `bare`. */
  readonly output?: z.ZodType
  /** An answer as `output` has it. */
  readonly example?: object
  /**
   * `auth`: a token is given; `wrapped`: a token for the answer is; `bare`: there is no envelope; `page`: it
   * is HTML.
   */
  readonly form?: 'auth' | 'wrapped' | 'bare' | 'page'
  /**
   * Of an answer that is no error. Without them 200 where something is read, listed or said to come back,
   * else 204.
   */
  readonly statuses?: readonly (200 | 202 | 204 | 304)[]
  /** What headers of an answer with a body say, by name, beside those that all have. */
  readonly headers?: Readonly<Record<string, string>>
  /** Fields that must be sent: without one of them the call is always refused. */
  readonly required?: readonly string[]
  /** Where others know the operation by a name. */
  readonly operationId?: string
}

/** How a route stands in the API document. */
type DocumentAs = {
  /** Template below the mount (`/role/:name`); of a path that belongs to no mount, the whole of it. */
  readonly path: string
  /** Only the verb that is documented; `SEARCH` carries lists (mount-router.ts). */
  readonly method: 'GET' | 'SEARCH' | 'POST' | 'PATCH' | 'DELETE'
  /** Of a path that belongs to no mount: below `/v1` or at the root of the server. */
  readonly at?: 'v1' | 'root'
  /** Instead of the schema of the route, when that serves several verbs. */
  readonly schema?: FastifySchema
  readonly answer?: Omit<DocumentedAnswer, 'output'>
}

/** A served route that the API document names. */
export type DocumentedRoute = DocumentAs & {
  /** The plugin it belongs to (first segment of its canonical path); `node` for paths of no mount. */
  readonly group: string
  /** Zod schemas, as given to Fastify. */
  readonly schema: FastifySchema
  /** Which token it takes. */
  readonly token: 'required' | 'optional' | 'none'
}

declare module 'fastify' {
  interface FastifyContextConfig {
    document?: DocumentAs
  }
}

/**
 * The documented ones of all routes that are added to `app` and its plugins from now on; complete once the
 * app is ready.
 */
export function recordRoutes(app: FastifyInstance): readonly DocumentedRoute[] {
  const routes: DocumentedRoute[] = []
  app.addHook('onRoute', ({ config, schema = {}, prefix }) => {
    if (config?.document === undefined) return
    const group = config.document.at === undefined ? (prefix.split('/')[1] ?? '') : 'node'
    routes.push({ schema, ...config.document, group, token: tokenOf(config.rules) })
  })
  return routes
}

function tokenOf(rules: { open: boolean; caller: string } | undefined): DocumentedRoute['token'] {
  if (rules === undefined) return 'none'
  if (!rules.open || rules.caller === 'required-inside') return 'required'
  return rules.caller === 'none' ? 'none' : 'optional'
}
