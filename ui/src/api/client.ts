import * as v from 'valibot'
import { apiBase } from '../base.ts'
import { namespace } from '../session/namespace.ts'
import { session } from '../session/session.ts'
import { hearServerTime } from './clock.ts'
import type { paths } from './document.ts'
import { ApiError } from './errors.ts'
import { parseJson } from './json.ts'
import { type ApiRequest, addressOf, encodedName, encodedPath } from './request.ts'

type Sent = ApiRequest & {
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Another token than that of the session, or none. */
  readonly token?: string | null | undefined
  /** Another namespace than the present one. */
  readonly namespace?: string | undefined
}

type Received = { readonly status: number; readonly headers: Headers; readonly body: unknown }

const errorBody = v.object({ errors: v.array(v.string()) })

/** Sends a call. Throws an ApiError for a refusal, for a path that would lead elsewhere, and for a server that does not respond. */
export async function send({
  signal,
  headers,
  token,
  namespace: other,
  ...request
}: Sent): Promise<Received> {
  const { method, body } = request
  const own = token === undefined ? session.token : token
  const listed = method === 'LIST' ? { ...request, query: { ...request.query, list: 'true' } } : request
  const address = addressOf(listed, apiBase)
  const within = other ?? namespace()
  let answer: Response
  try {
    answer = await fetch(address, {
      method: method === 'LIST' ? 'GET' : method,
      headers: {
        ...(own !== null && own !== '' && { 'X-Vault-Token': own }),
        ...(within !== '' && { 'X-Vault-Namespace': within }),
        ...(request.wrapTtl !== undefined && { 'X-Vault-Wrap-TTL': request.wrapTtl }),
        ...(body !== undefined && { 'Content-Type': bodyTypes[method] ?? 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ApiError(0, [])
  }
  // how long the token has left is in doubt, too
  if (hearServerTime(answer.headers.get('Date'))) session.doubt()
  const requestId = answer.headers.get('X-Gatehouse-Request-Id') ?? ''
  const text = await answer.text()
  const received: unknown = text === '' ? undefined : jsonOf(text)
  if (answer.ok || answer.status === 304)
    return { status: answer.status, headers: answer.headers, body: received }
  const errors = v.safeParse(errorBody, received)
  if (answer.status === 403 && own !== null && own === session.token) session.doubt()
  throw new ApiError(answer.status, errors.success ? errors.output.errors : [], requestId)
}

const bodyTypes: Readonly<Partial<Record<ApiRequest['method'], string>>> = {
  PATCH: 'application/merge-patch+json',
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

type Method = 'get' | 'post' | 'patch' | 'delete'

/** What the API document says of a call. */
type Described<Path extends keyof paths, M> = M extends keyof paths[Path] ? paths[Path][M] : never
type AnswerOf<O> = O extends { responses: { 200: { content: { 'application/json': infer A } } } }
  ? A
  : undefined
type BodyOf<O> =
  Required<O> extends { requestBody: { content: { 'application/json': infer B } } } ? B : undefined
type ParametersOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParametersOf<Rest>
  : never

type Given<Path extends string, Body> = {
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly body?: Body | undefined
  readonly wrapTtl?: string | undefined
} & ([ParametersOf<Path>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: Readonly<Record<ParametersOf<Path>, string>> })

/** A call of the API whose response has been checked. */
export type Call<G, Output> = {
  (given: G, options?: Pick<Sent, 'signal' | 'token' | 'namespace'>): Promise<Output>
  /** What it would send, for "copy as". */
  request(given: G): ApiRequest
}

/** The schema must accept every response that the API document describes. */
type Fits<Answer, Schema extends v.GenericSchema> =
  Answer extends v.InferInput<Schema> ? unknown : { readonly 'the API document describes': Answer }

/**
 * Defines a call by its path in the API document. `answer` is the schema of the body; a response of another form
 * is an error. `list` lists what is below the path.
 */
export function defineCall<
  Path extends keyof paths,
  M extends (Method & keyof paths[Path]) | 'list',
  Schema extends v.GenericSchema,
>(
  method: M,
  path: Path,
  answer: Schema & Fits<AnswerOf<Described<Path, M extends 'list' ? 'get' : M>>, Schema>,
): Call<Given<Path, BodyOf<Described<Path, M>>>, v.InferOutput<Schema>> {
  type G = Given<Path, BodyOf<Described<Path, M>>>
  const request = ({ params, query, body, wrapTtl }: G): ApiRequest => ({
    method: method.toUpperCase() as ApiRequest['method'],
    path: filledIn(path, params),
    ...(query !== undefined && { query }),
    ...(body !== undefined && { body }),
    ...(wrapTtl !== undefined && { wrapTtl }),
  })
  const call = async (given: G, options: Pick<Sent, 'signal' | 'token' | 'namespace'> = {}) =>
    checked(answer, await send({ ...request(given), ...options }))
  return Object.assign(call, { request })
}

/** The body of a response. Throws an ApiError for one of another form. */
export function checked<Schema extends v.GenericSchema>(
  schema: Schema,
  { body, headers }: Pick<Received, 'body' | 'headers'>,
): v.InferOutput<Schema> {
  const found = v.safeParse(schema, body)
  if (found.success) return found.output
  const [issue] = found.issues
  const place = v.getDotPath(issue) ?? 'the body'
  throw new ApiError(
    -1,
    [`unexpected response: ${place}: ${issue.message}`],
    headers.get('X-Gatehouse-Request-Id') ?? '',
  )
}

/** The root of a mount is a folder with an empty name. */
const filledIn = (path: string, params: Readonly<Record<string, string>> = {}): string =>
  path
    .slice(1)
    .replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
      /path$/.test(name) ? encodedPath(params[name] ?? '') : encodedName(params[name] ?? ''),
    )
    .replace(/\/\/$/, '/')
