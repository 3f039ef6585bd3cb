import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { ApiError } from './api-error.ts'
import type { Reply } from './call.ts'
import type { Fault } from './fault-fields.ts'
import type { FaultBox } from './faults.ts'

/** Sends a complete response; a string body is sent unchanged. */
export function sendReply(response: ServerResponse, { status, body, headers = {} }: Reply): void {
  if (body === undefined) {
    response.writeHead(status, status === 204 ? headers : { ...headers, 'content-length': '0' }).end()
    return
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response
    .writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      ...headers,
      'content-length': Buffer.byteLength(text),
    })
    .end(text)
}

export type Sabotage = {
  fault: Fault
  /** Executes the request. */
  act(): Promise<Reply>
  refuse(error: ApiError): Reply
  throttled(): ApiError
  send(reply: Reply): void
  response: ServerResponse
  faults: FaultBox
}

/** Responds with the ordered fault. */
export async function answerWith(sabotage: Sabotage): Promise<void> {
  const { fault, act, refuse, send, response } = sabotage
  switch (fault.kind) {
    case 'status':
      send(statusReply(fault, refuse))
      break
    case 'throttled': {
      const { status, code, message } = sabotage.throttled()
      send(refuse(new ApiError(status, code, message, { headers: retryAfter(fault.retryAfterSeconds) })))
      break
    }
    case 'redirect':
      send({ status: 307, headers: { location: fault.url } })
      break
    case 'dropped':
      response.destroy()
      break
    case 'silent':
      await untilClosed(sabotage)
      break
    case 'lost':
      await act()
      response.destroy()
      break
    case 'cut':
      await cut(response, await act())
      break
    case 'empty':
      send({ status: (await act()).status })
      break
    case 'html':
      await act()
      send({
        status: 200,
        body: '<!doctype html><title>Sign in</title>\n',
        headers: { 'content-type': 'text/html' },
      })
      break
    case 'slow':
      await answerAfter(sabotage, act(), (done) => {
        const timer = setTimeout(done, fault.delayMs)
        return () => clearTimeout(timer)
      })
      break
    case 'held':
      await answerAfter(sabotage, act(), (done) => sabotage.faults.hold(done))
      break
    case 'late':
      await new Promise<void>((go) =>
        fault.delayMs === undefined ? sabotage.faults.hold(go) : setTimeout(go, fault.delayMs),
      )
      send(await act())
      break
    case 'foreign-next-link':
      send(withNextLink(await act(), `${fault.origin}/next?$skiptoken=1`))
      break
    case 'huge':
      send(padded(await act(), fault.bytes))
      break
  }
}

function statusReply(fault: Fault & { kind: 'status' }, refuse: (error: ApiError) => Reply): Reply {
  const headers = retryAfter(fault.retryAfterSeconds)
  if (fault.body !== undefined) return { status: fault.status, body: fault.body, headers }
  const { code, message } = {
    ...(standardErrors[fault.status] ?? { code: 'UnknownError', message: 'Ordered by the test.' }),
  }
  return refuse(new ApiError(fault.status, fault.code ?? code, fault.message ?? message, { headers }))
}

const standardErrors: Record<number, { code: string; message: string }> = {
  500: {
    code: 'InternalServerError',
    message: 'The server has encountered an internal error. Please retry the request.',
  },
  502: { code: 'BadGateway', message: 'Bad gateway.' },
  503: { code: 'ServiceUnavailable', message: 'The service is temporarily unavailable.' },
  504: { code: 'GatewayTimeout', message: 'The gateway did not receive a response from upstream in time.' },
}

const retryAfter = (value: number | string | undefined): Record<string, string> =>
  value === undefined ? {} : { 'retry-after': String(value) }

async function cut(response: ServerResponse, reply: Reply): Promise<void> {
  const text = JSON.stringify(reply.body ?? {})
  response.writeHead(reply.status === 204 ? 200 : reply.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text) + 1,
  })
  await new Promise<void>((resolve) =>
    response.write(text.slice(0, Math.ceil(text.length / 2)), () => resolve()),
  )
  response.destroy()
}

/** Resolves when the client disconnects or the stand-in closes. */
async function untilClosed({ response }: Sabotage): Promise<void> {
  if (!response.destroyed) await once(response, 'close')
}

/**
 * Sends when the request is executed and `arrange` calls back, unless the connection has ended by then. It
 * waits for both from the start: a test may release the response as soon as the request has arrived.
 */
async function answerAfter(
  { response, send }: Sabotage,
  executed: Promise<Reply>,
  arrange: (done: () => void) => () => void,
): Promise<void> {
  const arranged = new Promise<void>((resolve) => {
    const cancel = arrange(resolve)
    response.on('close', () => {
      cancel()
      resolve()
    })
  })
  const [reply] = await Promise.all([executed, arranged])
  if (!response.destroyed) send(reply)
}

function withNextLink(reply: Reply, link: string): Reply {
  if (typeof reply.body !== 'object' || reply.body === null || !('value' in reply.body)) return reply
  return { ...reply, body: { ...reply.body, nextLink: link, '@odata.nextLink': link } }
}

function padded(reply: Reply, bytes: number): Reply {
  const body = typeof reply.body === 'object' ? reply.body : {}
  return {
    ...reply,
    status: reply.status === 204 ? 200 : reply.status,
    body: { ...body, padding: 'x'.repeat(bytes) },
  }
}
