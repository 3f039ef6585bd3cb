import { z } from 'zod'
import type { OutboundClient, OutboundResponse } from '../../../core/outbound/outbound.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { parsedJson } from '../../../lib/text/json.ts'
import { clean, retryAfter } from '../upstream/answer.ts'
import type { FreshToken } from '../upstream/transport.ts'
import {
  noMetadata,
  refusedIdentity,
  silentMetadata,
  type UpstreamCall,
  UpstreamError,
  type UpstreamFailure,
} from '../upstream/upstream-error.ts'

export type MetadataPlace = {
  readonly metadataEndpoint?: string | undefined
  readonly identityEndpoint?: string | undefined
  readonly identityHeader?: string | undefined
}

/** A managed identity; an empty client id is that of the machine itself. */
export type WantedIdentity = { readonly resource: string; readonly clientId: string }

/** Asks the metadata service for a token of a managed identity, never from a cache of ours. */
export type Metadata = (wanted: WantedIdentity, call: UpstreamCall) => Promise<FreshToken>

export type MetadataParts = {
  readonly place: MetadataPlace
  readonly outbound: Pick<OutboundClient, 'direct'>
  readonly clock: Clock
}

export const defaultEndpoint = 'http://169.254.169.254'
const unanswered = 'the metadata endpoint does not answer'
const connectMs = 2_000
const answerMs = 20_000
const maxBytes = 65_536

/** A number, in some answers as text. */
const seconds = z.coerce.number().finite().optional().catch(undefined)
const tokenAnswer = z.object({
  access_token: z.string().regex(/^[\u0021-\u007e]+$/),
  expires_in: seconds,
  expires_on: seconds,
})
const refusalAnswer = z.object({
  error: z.string().optional().catch(undefined),
  error_description: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
})

/**
 * Of a virtual machine, or of an application platform if it names one. The library's own client keeps its first
 * source for the whole process, and its requests would pass the proxy. docs/decisions/0007-cloud-clients.md
 */
export function openMetadata({ place, outbound, clock }: MetadataParts): Metadata {
  const { metadataEndpoint = defaultEndpoint, identityEndpoint, identityHeader } = place
  const [url, version, headers] =
    identityEndpoint !== undefined && identityHeader !== undefined
      ? [identityEndpoint, '2019-08-01', { 'x-identity-header': identityHeader }]
      : [`${metadataEndpoint}/metadata/identity/oauth2/token`, '2018-02-01', { metadata: 'true' }]
  return async ({ resource, clientId }, call) => {
    const query = new URLSearchParams({ 'api-version': version, resource })
    if (clientId !== '') query.set('client_id', clientId)
    let isThere = false
    const answer = await outbound
      .direct({
        onConnect: () => {
          isThere = true
        },
        service: 'metadata',
        url: `${url}?${query}`,
        headers,
        connectMs,
        maxBytes,
        signal: call.signal,
        timeoutMs: Math.max(1, Math.min(answerMs, call.deadline - clock.now())),
      })
      .catch((cause: unknown) => {
        throw failure(0, isThere ? silentMetadata : noMetadata, unanswered, { cause })
      })
    if (answer.status !== 200) throw refused(answer, clock.now(), identityHeader)
    const read = tokenAnswer.safeParse(parsedJson(answer.body.toString()))
    if (!read.success) throw failure(200, 'unusable_answer', 'the answer cannot be read')
    return { token: read.data.access_token, lifetimeMs: lifetimeOf(read.data, clock.now()) }
  }
}

/** Statuses of a service that is about to have an identity, is updated, or has too much to do. */
const passing: ReadonlySet<number> = new Set([404, 408, 410, 429])

function lifetimeOf(
  { expires_in, expires_on }: { expires_in?: number | undefined; expires_on?: number | undefined },
  now: number,
): number {
  const left = expires_in === undefined ? (expires_on ?? 0) * 1000 - now : expires_in * 1000
  return left > 1_000 ? left : 0
}

function refused({ status, headers, body }: OutboundResponse, now: number, secret: string | undefined) {
  const said = refusalAnswer.safeParse(parsedJson(body.toString())).data
  const text = [said?.error, said?.error_description ?? said?.message]
    .filter((part) => part !== undefined && part !== '')
    .join(': ')
  const shown = clean(secret === undefined ? text : text.replaceAll(secret, '…'))
  const isFinal = status >= 400 && status < 500 && !passing.has(status)
  return failure(
    status,
    isFinal ? refusedIdentity : 'metadata_unavailable',
    shown || `answered with status ${status}`,
    { retryAfterMs: retryAfter(headers['retry-after'], now), remedy: status === 410 ? updating : undefined },
  )
}

const updating = {
  cause: 'the metadata service is being updated',
  fix: 'wait until that is over, which takes up to 70 s',
}

const failure = (
  status: number,
  code: string,
  text: string,
  more: Pick<UpstreamFailure, 'retryAfterMs' | 'cause' | 'remedy'> = {},
): UpstreamError =>
  new UpstreamError({
    ...more,
    service: 'metadata',
    operation: 'token',
    status,
    code,
    text,
    message: `${text === unanswered ? 'no managed identity' : 'managed identity'}: ${text}`,
  })
