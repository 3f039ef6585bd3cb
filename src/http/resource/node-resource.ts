import { z } from 'zod'
import type { HelpPage, HelpVerb } from '../document/help.ts'
import type { Call } from '../exchange/call.ts'
import type { Answer } from '../exchange/envelope.ts'
import { errorBody } from '../exchange/error-reply.ts'
import { isSysPath, nodeUrl } from '../exchange/mount-router.ts'
import type { UsedField } from '../exchange/request-headers.ts'
import type { DocumentedAnswer, DocumentedRoute } from './documented-route.ts'

export type { Answer }

/** The input of a handler of a node-level path. */
export type NodeExchange = {
  readonly call: Call
  readonly body: Uint8Array | undefined
  /** The token id of the request, valid or not; empty for none. */
  presented(): string
  /** The value of a request header; the first of several. */
  header(name: UsedField): string | undefined
}

/**
 * A path that belongs to no mount. It is served before and without admission, also while the server is
 * sealed. Its handler checks the token itself if it needs one.
 */
export type NodeResource = NodeRoute & {
  readonly page: HelpPage
  readonly documented: readonly DocumentedRoute[]
}

/** What is served at a canonical node-level path. */
export type NodeRoute = {
  /** As returned by the mount router. */
  readonly url: string
  /** What is recorded of requests with these verbs. */
  readonly audited?: (NodeAudit & { readonly verbs: readonly string[] }) | undefined
  handle(exchange: NodeExchange): Answer | Promise<Answer>
}

/** A path whose requests are recorded. docs/contract/audit.md#what-is-logged */
type NodeAudit = {
  readonly entries: 'request' | 'both'
  /** Checks the caller, before the request is recorded. */
  admit(exchange: NodeExchange): Promise<void> | void
}

export type NodeSpec = {
  /** Verbs as clients send them; any other gets 405. The first is the method in the OpenAPI document. */
  readonly verbs: readonly ['GET' | 'POST', ...string[]]
  readonly summary: string
  readonly query?: z.ZodObject
  readonly body?: z.ZodObject
  readonly answer: DocumentedAnswer
  /** Checked by the handler. */
  readonly needs?: 'token' | 'sudo'
  /** While this is false, every verb gets 404. */
  isServed?(): boolean
  /** Absent for a path that leaves no audit entries. */
  readonly audited?: NodeAudit
  handle(exchange: NodeExchange): Answer | Promise<Answer>
}

/** Declares a node-level path: `/sys/…` is served below `/v1`, any other at the root of the server. */
export function nodeResource(path: `/${string}`, spec: NodeSpec): NodeResource {
  const { verbs, summary, query, body, answer, needs = 'nothing', isServed, audited, handle } = spec
  return {
    url: nodeUrl(path),
    page: { path, isOfNode: true, about: summary, needs, verbs: () => helpVerbs(spec) },
    documented: documentedMethods
      .filter((method) => verbs.includes(method))
      .map((method) => ({
        group: 'node',
        token: tokenOf[needs],
        sudo: needs === 'sudo',
        path,
        method,
        at: isSysPath(path) ? 'v1' : 'root',
        summary,
        ...(method === 'GET' ? query && { query } : body && { body }),
        answer,
        ...(answer.output && { output: answer.output }),
      })),
    audited: audited && { ...audited, verbs },
    handle: (exchange) => {
      if (isServed?.() === false) return { ...refusal, status: 404 }
      return verbs.includes(exchange.call.verb) ? handle(exchange) : refusal
    },
  }
}

/** `token`: not with GATEHOUSE_METRICS=open. */
const tokenOf = { nothing: 'none', token: 'optional', sudo: 'required' } as const

/** PUT is the same as POST, and DELETE of a ceremony returns nothing or the same as GET. */
const documentedMethods = ['GET', 'POST'] as const

function helpVerbs({ verbs, summary, query, body }: NodeSpec): HelpVerb[] {
  const shown = [
    { method: 'GET', verb: 'read', input: query },
    { method: 'POST', verb: 'write', input: body },
  ] as const
  return shown
    .filter(({ method }) => verbs.includes(method))
    .map(({ verb, input = z.object({}) }) => ({ verb, summary, input, anyFields: false }))
}

const refusal: Answer = { status: 405, contentType: 'application/json', body: errorBody() }

/** A JSON response without an envelope. */
export const jsonAnswer = (status: number, body: object): Answer => ({
  status,
  contentType: 'application/json',
  body: `${JSON.stringify(body)}\n`,
})
