import { randomUUID } from 'node:crypto'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { host, listen, stop } from '../loopback.ts'
import { ApiError } from './api-error.ts'
import type { Call, Reply, Route } from './call.ts'
import type { Certificates } from './certificates.ts'
import { type ConcurrencyGuard, concurrencyViolation } from './concurrency.ts'
import type { View } from './consistency.ts'
import type { FaultBox } from './faults.ts'
import type { JournalEntry } from './journal.ts'
import type { Operation, ServiceName } from './operations.ts'
import { answerWith, sendReply } from './replies.ts'
import type { TokenClaims } from './tokens.ts'

export type Service = {
  name: ServiceName
  /** Over plain HTTP; default TLS. */
  isPlain?: boolean
  routes: readonly Route[]
  /** Called before the route: checks the request and returns the caller. */
  admit(call: Call): TokenClaims | undefined
  refusal(error: ApiError, call: Call): Reply
  unknown(call: Call): Reply
  throttled(): ApiError
}

/** The state that all services share. */
export type ServiceContext = {
  certificates: Certificates
  faults: FaultBox
  /** The time on the stand-in's clock. */
  now(): number
  nextView(service: ServiceName): View
  /** Counts a request; returns when to retry if it exceeds the rate limit. */
  meter(service: ServiceName): { retryAfterSeconds: number } | undefined
  note(entry: JournalEntry): void
  /** Whether errors have no text. */
  isSilent(): boolean
  guard: ConcurrencyGuard
}

/** A listening service. */
export type RunningService = AsyncDisposable & {
  url: string
  goDown(): Promise<void>
  comeBack(): Promise<void>
}

const bodyLimit = 1_048_576

export async function startService(
  service: Service,
  context: ServiceContext,
  port = 0,
): Promise<RunningService> {
  const { cert, key } = context.certificates
  const taken = (request: IncomingMessage, response: ServerResponse) => void answer(request, response)
  const server =
    service.isPlain === true
      ? createPlainServer({ keepAliveTimeout: 60_000 }, taken)
      : createServer({ cert, key, keepAliveTimeout: 60_000 }, taken)
  const boundPort = await listen(server, port)
  const origin = `${service.isPlain === true ? 'http' : 'https'}://${host}:${boundPort}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = callOf(service, request, { origin, view: context.nextView(service.name) })
    const entry: JournalEntry = journalEntryOf(call)
    try {
      const bad = await readBody(request, call)
      entry.body = call.body
      if (typeof call.body.client_id === 'string') entry.clientId = call.body.client_id
      context.note(entry)
      await serve(service, context, { call, entry, response, bad })
    } catch (error) {
      // if the client has disconnected there is nothing to send; any other error is a bug of the stand-in
      if (response.destroyed || response.headersSent) response.destroy()
      else
        sendReply(response, {
          status: 500,
          body: { error: { code: 'SimulatorBroken', message: String(error) } },
        })
    } finally {
      context.guard.leave(call)
    }
  }

  return {
    url: origin,
    goDown: () => stop(server),
    comeBack: async () => {
      if (!server.listening) await listen(server, boundPort)
    },
    [Symbol.asyncDispose]: () => stop(server),
  }
}

type Exchange = { call: Call; entry: JournalEntry; response: ServerResponse; bad: ApiError | undefined }

async function serve(
  service: Service,
  context: ServiceContext,
  { call, entry, response, bad }: Exchange,
): Promise<void> {
  const fault = context.faults.take(call)
  if (fault !== undefined) entry.fault = fault.kind
  const entered = context.guard.enter(call)
  const act = async (): Promise<Reply> => {
    const limited = context.meter(call.service)
    try {
      if (limited !== undefined) {
        const { status, code, message } = service.throttled()
        throw new ApiError(status, code, message, {
          headers: { 'retry-after': String(limited.retryAfterSeconds) },
        })
      }
      if (!entered) throw concurrencyViolation()
      if (bad !== undefined) throw bad
      call.caller = service.admit(call)
      entry.clientId = call.caller?.appid ?? entry.clientId
      const route = service.routes.find(({ operation }) => operation === call.operation)
      return route === undefined ? service.unknown(call) : await route.handle(call)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      entry.code = error.code
      const number = error.details?.[0]?.['number']
      if (typeof number === 'number') entry.number = number
      return refuse(error)
    }
  }
  const refuse = (failure: ApiError): Reply => {
    const { status, code, headers, details } = failure
    const error = context.isSilent()
      ? new ApiError(status, code, '', { headers, ...(details && { details }) })
      : failure
    const reply = service.refusal(error, call)
    return { ...reply, headers: { ...reply.headers, ...error.headers } }
  }
  const standing = headersOf(call)
  const send = (reply: Reply): void => {
    entry.status = reply.status
    sendReply(response, { ...reply, headers: { ...standing, ...reply.headers } })
  }
  if (fault === undefined) send(await act())
  else
    await answerWith({
      fault,
      act,
      refuse,
      throttled: service.throttled,
      send,
      response,
      faults: context.faults,
    })
}

function callOf(
  service: Service,
  request: IncomingMessage,
  { origin, view }: { origin: string; view: View },
): Call {
  const method = request.method ?? 'GET'
  const url = URL.parse((request.url ?? '/').replace(/^\/{2,}/, '/'), origin)
  const path = url?.pathname ?? '/'
  const found = findRoute(service.routes, method, path)
  const clientRequestId = String(
    request.headers['client-request-id'] ?? request.headers['x-ms-client-request-id'] ?? randomUUID(),
  )
  return {
    operation: found?.operation ?? 'unknown',
    service: service.name,
    method,
    path,
    origin,
    params: found?.params ?? {},
    query: url?.searchParams ?? new URLSearchParams(),
    headers: request.headers,
    body: {},
    view,
    caller: undefined,
    requestId: randomUUID(),
    clientRequestId,
  }
}

function findRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): { operation: Operation; params: Record<string, string> } | undefined {
  let plain: string
  try {
    plain = decodeURIComponent(path)
  } catch {
    return undefined
  }
  for (const route of routes) {
    const match = route.method === method ? route.path.exec(plain) : null
    if (match !== null) return { operation: route.operation, params: { ...match.groups } }
  }
  return undefined
}

/** Reads the body into `call`; returns an error if it is invalid. */
async function readBody(request: IncomingMessage, call: Call): Promise<ApiError | undefined> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > bodyLimit)
      return new ApiError(413, 'RequestEntityTooLarge', 'The request body is too large.')
  }
  if (text === '') return undefined
  if (String(request.headers['content-type']).startsWith('application/x-www-form-urlencoded')) {
    call.body = Object.fromEntries(new URLSearchParams(text))
    return undefined
  }
  const unreadable = new ApiError(
    400,
    'BadRequest',
    'Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.',
  )
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return unreadable
    call.body = { ...body }
    return undefined
  } catch {
    return unreadable
  }
}

const journalEntryOf = (call: Call): JournalEntry => ({
  at: call.view.now,
  service: call.service,
  operation: call.operation,
  method: call.method,
  path: call.path,
  query: call.query.toString(),
  replica: call.view.replica,
  hasToken: call.headers.authorization !== undefined,
  clientRequestId: call.clientRequestId,
  requestId: call.requestId,
})

const headersOf = (call: Call): Record<string, string> => ({
  date: new Date(call.view.now).toUTCString(),
  'cache-control': 'no-store',
  ...(call.service === 'resource-manager'
    ? { 'x-ms-request-id': call.requestId, 'x-ms-correlation-request-id': call.clientRequestId }
    : {
        'request-id': call.requestId,
        'client-request-id': call.clientRequestId,
        'x-ms-request-id': call.requestId,
      }),
})
