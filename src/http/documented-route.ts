import type { z } from 'zod'
import type { RouteRules, VerbName } from './exchange.ts'

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

/** A served verb that the API document names. */
export type DocumentedRoute = {
  /** The plugin it belongs to; `node` for paths of no mount. */
  readonly group: string
  /** Template below the mount (`/role/:name`); of a path that belongs to no mount, the whole of it. */
  readonly path: string
  /** `SEARCH` stands for a list. */
  readonly method: 'GET' | 'SEARCH' | 'POST' | 'PATCH' | 'DELETE'
  /** Of a path that belongs to no mount: below `/v1` or at the root of the server. */
  readonly at?: 'v1' | 'root'
  readonly summary: string
  readonly description?: string
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodObject
  readonly output?: z.ZodType
  readonly answer?: Omit<DocumentedAnswer, 'output'>
  /** Which token it takes. */
  readonly token: 'required' | 'optional' | 'none'
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
