import type { z } from 'zod'
import { type RequestKind, readAnswer, type UpstreamAnswer } from './answer.ts'
import type { UpstreamConnection } from './connection.ts'
import { allPages } from './paging.ts'
import type { TokenResource } from './token-source.ts'
import { type UpstreamCall, UpstreamError, type UpstreamOperation } from './upstream-error.ts'

type ApiRequest = {
  readonly operation: UpstreamOperation
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base of the service, with encoded segments and query values; or the address of a further page. */
  readonly path: string
  readonly body?: object | undefined
  readonly prefer?: string | undefined
  /** False: sending it twice creates two objects. */
  readonly repeatable?: boolean
}

type ApiParts = {
  readonly service: TokenResource
  /** Without a trailing slash. */
  readonly base: string
  readonly connection: Pick<UpstreamConnection, 'send'>
  /** Makes attempts with a token of the root, and retries. */
  perform<Result>(
    kind: RequestKind & { readonly service: TokenResource },
    call: UpstreamCall,
    attempt: (token: string) => Promise<Result>,
  ): Promise<Result>
}

export type Api = ReturnType<typeof openApi>

const correlationHeaders = {
  directory: 'client-request-id',
  'resource-manager': 'x-ms-client-request-id',
} as const

/** Requests to one service of the cloud. The token goes to addresses below its base only. */
export function openApi({ service, base, connection, perform }: ApiParts) {
  const root = `${new URL(base).href.replace(/\/$/, '')}/`

  /** Returns what `read` makes of the successful answer. */
  const send = async <Result>(
    { operation, method, path, body, prefer, repeatable = true }: ApiRequest,
    call: UpstreamCall,
    read: (answer: UpstreamAnswer, kind: RequestKind) => Result,
  ): Promise<Result> => {
    const kind = { service, operation, repeatable }
    const url = path.startsWith('/') ? base + path : path
    // a list names the address of its next page
    if (URL.parse(url)?.href.startsWith(root) !== true)
      throw UpstreamError.of(kind, 'foreign_address', 'the address is not one of the configured service')
    const content = body === undefined ? undefined : JSON.stringify(body)
    return await perform(kind, call, async (token) => {
      const headers = {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        [correlationHeaders[service]]: call.correlationId,
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
        ...(prefer === undefined ? {} : { prefer }),
      }
      return read(await connection.send({ ...kind, method, url, headers, body: content }, call), kind)
    })
  }

  /** Sends a request whose answer has this form. */
  const ask = <Schema extends z.ZodType>(
    request: ApiRequest,
    schema: Schema,
    call: UpstreamCall,
  ): Promise<z.output<Schema>> => send(request, call, (answer, kind) => readAnswer(kind, answer, schema))

  /** Sends a request whose answer says nothing. */
  const tell = (request: ApiRequest, call: UpstreamCall): Promise<void> =>
    send(request, call, () => undefined)

  return {
    base,
    send,
    ask,
    tell,
    remove: (operation: UpstreamOperation, path: string, call: UpstreamCall): Promise<void> =>
      tell({ operation, method: 'DELETE', path }, call),
    get: <Schema extends z.ZodType>(
      operation: UpstreamOperation,
      path: string,
      schema: Schema,
      call: UpstreamCall,
    ): Promise<z.output<Schema>> => ask({ operation, method: 'GET', path }, schema, call),
    /** All items of a list, from all pages. */
    list: <Item extends z.ZodType>(
      operation: UpstreamOperation,
      first: string,
      item: Item,
      call: UpstreamCall,
    ): Promise<z.output<Item>[]> =>
      allPages({ service, operation, repeatable: true }, item, first, (path, read) =>
        send({ operation, method: 'GET', path }, call, read),
      ),
  }
}
