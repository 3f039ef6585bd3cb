import { setTimeout as wait } from 'node:timers/promises'
import type { OutboundClient } from '../../../core/outbound.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { RequestKind } from './answer.ts'
import { classify } from './classification.ts'
import { UpstreamConnection } from './connection.ts'
import { type DirectoryApi, type DirectorySend, openDirectory } from './directory-api.ts'
import type { Environment } from './environments.ts'
import {
  openResourceManager,
  type ResourceManagerApi,
  type ResourceManagerSend,
} from './resource-manager-api.ts'
import { cancelled, untilReplicated, type Waiting, withRetries } from './retry.ts'
import { claimsOf, RootTokens, type TokenResource, type TokenSource } from './token-source.ts'
import { openGraph, openLogin } from './transport.ts'
import type { UpstreamCall } from './upstream-call.ts'
import { UpstreamError, type UpstreamOperation } from './upstream-error.ts'

/**
 * What one mount signs in with, and where: the effective settings, all resolved.
 * docs/contract/cloud.md#effective-settings
 */
export type UpstreamSettings = {
  readonly subscriptionId: string
  readonly tenantId: string
  readonly clientId: string
  readonly clientSecret: string
  readonly environment: Environment
  /** Certificates trusted beside the system's, PEM (the contents of `CLOUD_CA_FILE`). */
  readonly caPem?: string | undefined
}

export type UpstreamParts = {
  readonly outbound: OutboundClient
  readonly clock: Clock
  /** Waits that long, or until the signal; tests move their clock instead. */
  readonly pause?: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** Ends with the server: no request for a token outlives it. */
  readonly stopping?: AbortSignal | undefined
  /** 0 ≤ x < 1. */
  readonly random?: () => number
}

/**
 * The three services behind one root credential. Made anew when a setting changes; holds no timer and nothing
 * to close.
 */
export type Upstream = {
  readonly directory: DirectoryApi
  readonly resourceManager: ResourceManagerApi
  readonly tokens: TokenSource
  /** The directory's address without `/v1.0`. */
  readonly directoryBase: string
  /**
   * How far upstream's clock is ahead of ours, from the `Date` of the last answer; undefined before the
   * first.
   */
  clockOffsetMs(): number | undefined
  /**
   * Does `operation` again, 2–7 s apart, while what it depends on is not replicated yet (`classify` says
   * `retry` for the step), until the call's deadline and for at most 80 s. The error of the end is `retry
   * failed: <last error>: context deadline exceeded`. docs/contract/cloud.md#service-principals.
   */
  untilReplicated<Result>(
    step: UpstreamOperation,
    call: UpstreamCall,
    operation: (call: UpstreamCall) => Promise<Result>,
  ): Promise<Result>
}

/** Makes no request. */
export function openUpstream(settings: UpstreamSettings, parts: UpstreamParts): Upstream {
  const { environment, subscriptionId } = settings
  const waiting: Waiting = {
    clock: parts.clock,
    pause: parts.pause ?? pause,
    random: parts.random ?? Math.random,
  }
  const connection = new UpstreamConnection(parts, settings.caPem)
  const tokens = new RootTokens({
    login: openLogin({ authorityHost: environment.authorityHost, tenantId: settings.tenantId }, connection),
    credential: { clientId: settings.clientId, secret: settings.clientSecret },
    scopes: { directory: environment.directoryScope, 'resource-manager': environment.resourceManagerScope },
    waiting,
    stopping: parts.stopping,
  })

  /**
   * One request with its token: tried again as the policy says, and once with a new token when the old one is
   * refused. A token carries the permissions of its issue, so one that lacks a right is not kept for long:
   * once the right is granted, the next request has it.
   */
  const perform = async <Result>(
    kind: RequestKind & { service: TokenResource },
    call: UpstreamCall,
    attempt: (token: string) => Promise<Result>,
  ): Promise<Result> => {
    let refused = false
    return await withRetries(waiting, call, kind.operation, async () => {
      const token = await tokens.token(kind.service, call)
      return await attempt(token).catch(async (error: unknown) => {
        if (error instanceof UpstreamError && classify(error).kind === 'denied') {
          tokens.denied(token)
          throw kind.service === 'directory'
            ? new UpstreamError({ ...error, message: error.message, granted: claimsOf(token).roles })
            : error
        }
        if (refused || !(error instanceof UpstreamError) || error.status !== 401) throw error
        refused = true
        tokens.invalidate(token)
        return await attempt(await tokens.token(kind.service, call))
      })
    })
  }

  const graph = openGraph(environment.directoryBase, connection)
  const sendToDirectory: DirectorySend = async (request, call, read) => {
    const kind = {
      service: 'directory',
      operation: request.operation,
      repeatable: request.repeatable,
    } as const
    return await perform(kind, call, async (token) =>
      read(await graph({ ...request, ...kind, token }, call), kind),
    )
  }
  const sendToResourceManager: ResourceManagerSend = async ({ operation, method, url, body }, call, read) => {
    const kind = { service: 'resource-manager', operation, repeatable: true } as const
    const content = body === undefined ? undefined : JSON.stringify(body)
    return await perform(kind, call, async (token) => {
      const headers = resourceManagerHeaders(token, call, content !== undefined)
      return read(await connection.send({ ...kind, method, url, headers, body: content }, call), kind)
    })
  }

  return {
    directory: openDirectory(environment.directoryBase, sendToDirectory),
    resourceManager: openResourceManager(
      environment.resourceManagerBase,
      subscriptionId,
      sendToResourceManager,
    ),
    tokens,
    directoryBase: environment.directoryBase,
    clockOffsetMs: () => connection.clockOffsetMs,
    untilReplicated: (step, call, operation) => untilReplicated(waiting, step, call, operation),
  }
}

const resourceManagerHeaders = (
  token: string,
  { correlationId }: UpstreamCall,
  hasBody: boolean,
): Record<string, string> => ({
  accept: 'application/json',
  authorization: `Bearer ${token}`,
  'x-ms-client-request-id': correlationId,
  ...(hasBody ? { 'content-type': 'application/json' } : {}),
})

/** Neither this request nor one before it was sent. */
export const isUnsent = ({ code, status, inDoubt }: UpstreamError): boolean =>
  code === cancelled && status === 0 && !inDoubt

/** Ends with its time or with the signal, never with an error. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await wait(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => {})
}
