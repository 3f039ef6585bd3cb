import type { z } from 'zod'
import type { RouteRules, VerbName } from '../exchange/exchange.ts'

/** What the API document says about the response of a verb. */
export type DocumentedAnswer = {
  /** The shape of `data` in the response, or of the whole response if it is `bare`. */
  readonly output?: z.ZodType
  /** An example of `output`. */
  readonly example?: object
  /**
   * `auth`: returns a token; `wrapped`: returns a wrapping token; `bare`: has no envelope; `page`: is HTML;
   * `file`: is binary; `text`: is plain text.
   */
  readonly form?: 'auth' | 'wrapped' | 'bare' | 'page' | 'file' | 'text'
  /**
   * Statuses of successful responses. By default 200 if something is read, listed or documented as output,
   * else 204.
   */
  readonly statuses?: readonly (200 | 202 | 204 | 304)[]
  /** A 404 with an envelope and `data`, instead of errors. */
  readonly missing?: { readonly description: string; readonly output: z.ZodType; readonly example: object }
  /** Headers of a response with a body, by name, in addition to the common ones. */
  readonly headers?: Readonly<Record<string, string>>
  /** Headers of the request that the call looks at, by name. */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** Required fields: without one of them the call is always refused. */
  readonly required?: readonly string[]
  /** Set if other clients know the operation by this id. */
  readonly operationId?: string
  /** The fields of the request, if the document shows some on a path of their own. */
  readonly shownInput?: z.ZodObject
}

/** A served verb that the API document describes. */
export type DocumentedRoute = {
  /** The plugin it belongs to; `node` for node-level paths. */
  readonly group: string
  /** Template below the mount (`/role/:name`); for a node-level path, the whole path. */
  readonly path: string
  /** `SEARCH` stands for a list. */
  readonly method: 'GET' | 'SEARCH' | 'POST' | 'PATCH' | 'DELETE'
  /** For a node-level path: below `/v1` or at the root of the server. */
  readonly at?: 'v1' | 'root'
  readonly summary: string
  readonly description?: string
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodObject
  readonly output?: z.ZodType
  readonly answer?: Omit<DocumentedAnswer, 'output'>
  /** Which token it requires. */
  readonly token: 'required' | 'optional' | 'none'
  /** Requires `sudo`. */
  readonly sudo?: boolean
}

/** The method in the document; OpenAPI has none for a scan. */
export const documentedMethod = {
  read: 'GET',
  list: 'SEARCH',
  write: 'POST',
  patch: 'PATCH',
  delete: 'DELETE',
} as const satisfies Partial<Record<VerbName, DocumentedRoute['method']>>

export function tokenKind({ open, caller }: Pick<RouteRules, 'open' | 'caller'>): DocumentedRoute['token'] {
  if (!open || caller === 'required-inside') return 'required'
  return caller === 'none' ? 'none' : 'optional'
}
