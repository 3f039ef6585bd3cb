import { setTimeout as wait } from 'node:timers/promises'
import type { OutboundClient } from '../../../core/outbound/outbound.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { RootCredential } from '../config/choose-credential.ts'
import { type MetadataPlace, openMetadata } from '../sign-in/metadata.ts'
import { type LoginParts, openLogin } from '../sign-in/open-login.ts'
import type { RequestKind } from './answer.ts'
import { classify } from './classification.ts'
import { UpstreamConnection } from './connection.ts'
import { type DirectoryApi, openDirectory } from './directory/directory.ts'
import type { DirectorySend } from './directory/directory-requests.ts'
import {
  openResourceManager,
  type ResourceManagerApi,
  type ResourceManagerSend,
} from './resource-manager-api.ts'
import { cancelled, type Pause, untilReplicated, type Waiting, withRetries } from './retry.ts'
import { claimsOf, RootTokens, type TokenResource } from './token-source.ts'
import { type Exchange, type LoginSettings, openExchange, openGraph } from './transport.ts'
import { type UpstreamCall, UpstreamError, type UpstreamOperation } from './upstream-error.ts'

/** What a mount signs in with, and where. docs/contract/cloud.md#effective-settings */
export type UpstreamSettings = LoginSettings & {
  readonly subscriptionId: string
  readonly clientId: string
  readonly credential: RootCredential
  /** Where the managed identities of the host are. */
  readonly metadata?: MetadataPlace | undefined
}

export type UpstreamParts = Pick<LoginParts, 'identifiers' | 'signIdentityToken' | 'accepted'> & {
  readonly outbound: OutboundClient
  readonly clock: Clock
  /** Waits for this time or until the signal is aborted. Tests advance their clock instead. */
  readonly pause?: Pause
  /** Aborted when the server stops, which ends requests for tokens. */
  readonly stopping?: AbortSignal | undefined
  /** 0 ≤ x < 1. */
  readonly random?: () => number
}

/** For one root credential; a changed setting needs a new client. Holds nothing that must be closed. */
export type Upstream = {
  readonly directory: DirectoryApi
  readonly resourceManager: ResourceManagerApi
  readonly tokens: RootTokens
  /** How far the clock upstream is ahead of ours, by the last answer. Undefined before the first one. */
  clockOffsetMs(): number | undefined
  /**
   * Repeats `operation` every 2 to 7 s while an object it depends on is not replicated yet (`classify` says
   * `retry`), until the deadline and for at most 80 s. docs/contract/cloud.md#service-principals
   */
  untilReplicated<Result>(
    step: UpstreamOperation,
    call: UpstreamCall,
    operation: (call: UpstreamCall) => Promise<Result>,
  ): Promise<Result>
}

export function openUpstream(settings: UpstreamSettings, parts: UpstreamParts): Upstream {
  const { environment, subscriptionId } = settings
  const waiting = waitingOf(parts)
  const connection = new UpstreamConnection(parts, settings.caPem)
  const exchange = openExchange(settings, connection)
  const tokens = new RootTokens({
    login: openLogin(settings.credential, {
      ...parts,
      exchange,
      environment,
      clockOffsetMs: () => connection.clockOffsetMs,
      metadata: openMetadata({ ...parts, place: settings.metadata ?? {} }),
    }),
    exchange,
    scopes: { directory: environment.directoryScope, 'resource-manager': environment.resourceManagerScope },
    waiting,
    stopping: parts.stopping,
  })
  const perform = performWith(tokens, waiting)
  const graph = openGraph(environment.directoryBase, connection)
  const sendToDirectory: DirectorySend = async (request, call, read) => {
    const { operation, repeatable = true } = request
    const kind = { service: 'directory', operation, repeatable } as const
    return await perform(kind, call, async (token) =>
      read(await graph({ ...request, ...kind, token }, call), kind),
    )
  }
  const sendToResourceManager: ResourceManagerSend = async ({ operation, method, url, body }, call, read) => {
    const kind = { service: 'resource-manager', operation, repeatable: true } as const
    const content = body === undefined ? undefined : JSON.stringify(body)
    return await perform(kind, call, async (token) => {
      const headers = {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'x-ms-client-request-id': call.correlationId,
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
      }
      return read(await connection.send({ ...kind, method, url, headers, body: content }, call), kind)
    })
  }
  const { directoryBase, resourceManagerBase } = environment
  return {
    directory: openDirectory(directoryBase, sendToDirectory),
    resourceManager: openResourceManager(resourceManagerBase, subscriptionId, sendToResourceManager),
    tokens,
    clockOffsetMs: () => connection.clockOffsetMs,
    untilReplicated: (step, call, operation) => untilReplicated(waiting, step, call, operation),
  }
}

/** Exchanges proofs of any client for tokens, with retries; needs no root credential. */
export type TokenExchange = {
  /** Where clients exchange assertions themselves. */
  readonly tokenEndpoint: string
  readonly waiting: Waiting
  /** A scope that every client may ask for. */
  readonly readyScope: string
  /** How far the clock of the login service is ahead of ours; undefined before its first answer. */
  clockOffsetMs(): number | undefined
  readonly exchange: Exchange
}

export function openTokenExchange(
  settings: LoginSettings,
  parts: Pick<UpstreamParts, 'outbound' | 'clock' | 'pause' | 'random'>,
): TokenExchange {
  const { tenantId, environment } = settings
  const waiting = waitingOf(parts)
  const connection = new UpstreamConnection(parts, settings.caPem)
  const exchange = openExchange(settings, connection)
  return {
    tokenEndpoint: `${environment.authorityHost}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
    waiting,
    readyScope: environment.directoryScope,
    clockOffsetMs: () => connection.clockOffsetMs,
    exchange: (client, scope, call) =>
      withRetries(waiting, call, 'token', () => exchange(client, scope, call)),
  }
}

const waitingOf = (parts: Pick<UpstreamParts, 'clock' | 'pause' | 'random'>): Waiting => ({
  clock: parts.clock,
  pause: parts.pause ?? pause,
  random: parts.random ?? Math.random,
})

type Perform = <Result>(
  kind: RequestKind & { service: TokenResource },
  call: UpstreamCall,
  attempt: (token: string) => Promise<Result>,
) => Promise<Result>

/**
 * With retries, one of them with a new token if the old one is refused. A token carries the permissions of its
 * issue, so one that lacks a permission is soon replaced.
 */
const performWith =
  (tokens: RootTokens, waiting: Waiting): Perform =>
  async (kind, call, attempt) => {
    let isRefused = false
    return await withRetries(waiting, call, kind.operation, async () => {
      const token = await tokens.token(kind.service, call)
      return await attempt(token).catch(async (error: unknown) => {
        if (error instanceof UpstreamError && classify(error).kind === 'denied') {
          tokens.denied(token)
          throw kind.service === 'directory' ? error.with({ granted: claimsOf(token).roles }) : error
        }
        if (isRefused || !(error instanceof UpstreamError) || error.status !== 401) throw error
        isRefused = true
        tokens.invalidate(token)
        return await attempt(await tokens.token(kind.service, call))
      })
    })
  }

/** Whether neither this request nor an earlier try of it was sent. */
export const isUnsent = ({ code, status, inDoubt }: UpstreamError): boolean =>
  code === cancelled && status === 0 && !inDoubt

/** Resolves after this time or when the signal is aborted. Never rejects. */
export const pause: Pause = (milliseconds, signal) =>
  wait(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => {})
