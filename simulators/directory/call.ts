import type { IncomingMessage } from 'node:http'
import type { View } from './consistency.ts'
import type { Operation, ServiceName } from './operations.ts'
import type { TokenClaims } from './tokens.ts'

/** A parsed request. */
export type Call = {
  operation: Operation
  service: ServiceName
  method: string
  path: string
  /** The origin of the service, without a trailing slash. */
  origin: string
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  headers: IncomingMessage['headers']
  /** The members of a JSON object, or the fields of a form. */
  body: Record<string, unknown>
  view: View
  caller: TokenClaims | undefined
  requestId: string
  clientRequestId: string
}

export type Reply = { status: number; body?: unknown; headers?: Record<string, string> }

export type Route = {
  operation: Operation
  method: string
  /** Matches the decoded path; named groups become `params`. */
  path: RegExp
  handle(call: Call): Reply | Promise<Reply>
}
