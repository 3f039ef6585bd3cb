import type { FastifyReply } from 'fastify'
import { type CustomHeaders, headersFor } from './custom-headers.ts'

/** Headers of every response, unless it sets them itself. docs/contract/http.md#headers */
const defaults = {
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
}

/** A header of every response: the id of its request in logs, audit and envelope. docs/explain.md */
export const requestIdHeader = 'x-gatehouse-request-id'

/** The headers that responses of one status have in common, with those that an operator has added. */
export class CommonHeaders {
  #custom: CustomHeaders
  readonly #byStatus = new Map<number, Readonly<Record<string, string>>>()

  constructor(custom: CustomHeaders = {}) {
    this.#custom = custom
  }

  /** The same object until they change. */
  of(status: number): Readonly<Record<string, string>> {
    const known = this.#byStatus.get(status)
    if (known !== undefined) return known
    const fresh = { ...defaults, ...headersFor(this.#custom, status) }
    this.#byStatus.set(status, fresh)
    return fresh
  }

  replace(custom: CustomHeaders): void {
    this.#custom = custom
    this.#byStatus.clear()
  }

  /**
   * Adds to a response what it does not have yet: the common headers, the request id, and the namespace that the request
   * named. docs/contract/http.md#headers
   */
  addTo(reply: FastifyReply, requestId: string, namespace: string | string[] | undefined): void {
    const common = this.of(reply.statusCode)
    for (const name in common) addTo(reply, name, common[name])
    addTo(reply, requestIdHeader, requestId)
    if (typeof namespace === 'string' && namespace !== '') addTo(reply, 'x-vault-namespace', namespace)
  }
}

function addTo(reply: FastifyReply, name: string, value: string | undefined): void {
  if (!reply.hasHeader(name)) reply.header(name, value)
}
