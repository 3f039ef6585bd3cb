import { z } from 'zod'
import { everyValue } from '../../core/audit/hashing.ts'
import { namespaceIdOf } from '../../core/namespaces/suffix.ts'
import type { Core } from '../../core/open/core.ts'
import { isWrapping, notAWrappingToken } from '../../core/wrapping/wrapper.ts'
import { refuse, type ServiceError } from '../../errors.ts'
import {
  type Exchange,
  type Follows,
  type Precheck,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { stringField } from '../../lib/text/fields.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { answers } from './answers/answers.ts'

type Sent = Readonly<Record<string, JsonValue>>

const tokenInput = z.object({
  token: stringField
    .default('')
    .meta({ description: 'The wrapping token; by default the calling token', writeOnly: true }),
})

/** `sys/wrapping/*`. docs/contract/wrapping.md#calls */
export function wrappingResources({ wrapper, log }: Pick<Core, 'wrapper' | 'log'>): Resource[] {
  const precheck: Precheck = async (sent, { call, presented, hasLogin }) => {
    if (call.operation === 'help') return
    // a login in the headers has no token that could be meant
    if (hasLogin && (sent['token'] ?? null) === null) throw notAWrappingToken()
    if ((await wrapper.find(meantToken(sent, presented))) !== undefined) return
    const { path, remoteAddress: remote_address, requestId: request_id } = call
    // someone else may have used it already
    log.warn(
      { event: 'unwrap_refused', path, remote_address, request_id },
      'an invalid wrapping token was used',
    )
    throw notAWrappingToken()
  }
  /**
   * The wrapping token was valid at the precheck. If it is also the calling token and authentication then
   * refuses it, another request has used it in the meantime.
   */
  const refusedCaller = (sent: Sent, presented: string): ServiceError | undefined =>
    meantToken(sent, presented) === presented ? notAWrappingToken() : undefined

  /** The wrapping token a request is about; throws a refusal if it was used since the precheck. */
  const meant = async ({ sent, caller }: Exchange<unknown, unknown>) => {
    const id = meantToken(sent, caller?.tokenId ?? '')
    const token = id === caller?.tokenId ? caller.token : await wrapper.find(id)
    if (token === undefined || !isWrapping(token)) throw notAWrappingToken()
    return token
  }

  const lookup = async ({ sent, presented }: Exchange<unknown, unknown>): Promise<Reply> => {
    const token = await wrapper.find(meantToken(sent, presented()))
    if (token === undefined) throw notAWrappingToken()
    return { data: await wrapper.origin(token) }
  }
  return [
    resource('/wrapping/wrap', {
      help: 'Wrap the sent data: the bearer of the returned token can unwrap it once.',
      issuesCredentials: true,
      secretValues: everyValue,
      write: {
        summary: 'Wrap data',
        ...answers.wrapped,
        anyFields: true,
        handle: ({ call, sent }) => {
          if (call.wrapTtl === 0) throw refuse('invalid', 'endpoint requires response wrapping to be used')
          return { data: sent }
        },
      },
    }),
    resource('/wrapping/lookup', {
      help: 'When and by which path a response was wrapped; the token stays valid.',
      passesReadOnly: true,
      open: true,
      wrapsWithoutToken: true,
      precheck,
      follows: followsWrappingToken,
      read: { summary: 'Look up a wrapping token', ...answers.wrapOrigin, input: tokenInput, handle: lookup },
      write: {
        summary: 'Look up a wrapping token',
        ...answers.wrapOrigin,
        input: tokenInput,
        handle: lookup,
      },
    }),
    resource('/wrapping/unwrap', {
      help: 'Return the response behind a wrapping token, and revoke the token.',
      passesReadOnly: true,
      secretValues: everyValue,
      precheck,
      follows: followsWrappingToken,
      refusedCaller,
      write: {
        summary: 'Unwrap a response',
        ...answers.unwrapped,
        input: tokenInput,
        handle: async (exchange) => {
          const token = await meant(exchange)
          const response =
            token === exchange.caller?.token
              ? await wrapper.spentResponse(token)
              : await wrapper.unwrap(token)
          return { raw: { ...response, contentType: 'application/json' } }
        },
      },
    }),
    resource('/wrapping/rewrap', {
      help: 'Move a wrapped response to a new token, and revoke the old one.',
      passesReadOnly: true,
      precheck,
      follows: followsWrappingToken,
      refusedCaller,
      write: {
        summary: 'Exchange a wrapping token',
        ...answers.wrapped,
        input: tokenInput,
        handle: async (exchange) => ({
          wrapInfo: await wrapper.rewrap(await meant(exchange), exchange.call.wrapTtl),
        }),
      },
    }),
  ]
}

/** The id of a wrapping token ends in its namespace. docs/contract/namespaces.md#calls-that-follow-an-id */
const followsWrappingToken: Follows = ({ token }, presented) =>
  namespaceIdOf(typeof token === 'string' ? token : presented)

/** The token in the fields, else the calling token; throws without either. docs/contract/wrapping.md#calls */
function meantToken({ token }: Sent, presented: string): string {
  const refused = (why: string) => refuse('denied', `error validating wrapping token: ${why}`)
  if (token === undefined || token === null) {
    if (presented === '') throw refused('token is empty')
    return presented
  }
  if (typeof token !== 'string') throw refused('could not decode token in request body')
  if (token === '') throw refused('empty token in request body')
  return token
}
