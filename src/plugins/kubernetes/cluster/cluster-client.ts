import type { Agent } from 'node:http'
import { type OutboundClient, OutboundError } from '../../../core/outbound/outbound.ts'
import { isUntrusted } from '../../../core/outbound/outbound-cause.ts'
import type { ReadyConfig } from '../config/config.ts'
import type { ClusterAnswer } from './answers.ts'
import type { LocalFiles } from './local-files.ts'

const maxBytes = 1024 ** 2
/** For all requests of one login. */
export const loginTimeMs = 10_000

/** The requests of one login. */
export type Asking = {
  readonly ready: ReadyConfig
  /** The token of the caller, which asks if nobody else can. */
  readonly jwt: string
  /** As `performance.now()` counts. */
  readonly endsAt: number
}

/** Whose token asks the cluster. */
export type Reviewer = { readonly kind: 'configured' | 'file' | 'caller'; readonly bearer: string }

/** Below the address of the cluster, or of an `origin`: another server than the cluster's gets no token. */
export type Request = { readonly path: string; readonly body?: object; readonly origin?: string }

/** Requests to the API server of one mount, over connections that it keeps. */
export class ClusterClient {
  readonly #outbound: OutboundClient
  readonly #local: LocalFiles
  #connections: { readonly key: string; readonly agent: Agent } | undefined

  constructor({ outbound, local }: { readonly outbound: OutboundClient; readonly local: LocalFiles }) {
    this.#outbound = outbound
    this.#local = local
  }

  /** docs/contract/kubernetes.md#whom-the-server-asks */
  async reviewer({ ready: { config }, jwt }: Pick<Asking, 'ready' | 'jwt'>): Promise<Reviewer> {
    if (config.token_reviewer_jwt !== '') return { kind: 'configured', bearer: config.token_reviewer_jwt }
    const local = config.disable_local_ca_jwt ? undefined : await this.#local.read('token')
    return local === undefined ? { kind: 'caller', bearer: jwt } : { kind: 'file', bearer: local }
  }

  /** Returns any response. Throws `OutboundError`. A file that was replaced since it was read is read again. */
  async ask(asking: Asking, request: Request): Promise<ClusterAnswer> {
    const reviewer = await this.reviewer(asking)
    const answer = await this.#askTrusting(asking, request, reviewer.bearer)
    if (answer.status !== 401 || reviewer.kind !== 'file') return answer
    const bearer = await this.#local.readAgain('token')
    return bearer === undefined || bearer === reviewer.bearer
      ? answer
      : this.#askTrusting(asking, request, bearer)
  }

  async #askTrusting(asking: Asking, request: Request, bearer: string): Promise<ClusterAnswer> {
    const { config } = asking.ready
    const isLocal = config.kubernetes_ca_cert === '' && !config.disable_local_ca_jwt
    const ca = isLocal ? await this.#local.read('ca.crt') : config.kubernetes_ca_cert
    if (ca === undefined) throw new OutboundError('the file with the authority of the cluster is gone')
    try {
      return await this.#send(asking, request, { bearer, ca })
    } catch (error) {
      const isOther = isLocal && error instanceof OutboundError && isUntrusted(error.cause)
      const now = isOther ? await this.#local.readAgain('ca.crt') : undefined
      if (now === undefined || now === ca) throw error
      return this.#send(asking, request, { bearer, ca: now })
    }
  }

  async #send(
    { ready: { url }, jwt, endsAt }: Asking,
    { path, body, origin }: Request,
    { bearer, ca }: { readonly bearer: string; readonly ca: string },
  ): Promise<ClusterAnswer> {
    const timeoutMs = endsAt - performance.now()
    if (timeoutMs <= 0) throw new OutboundError('time limit exceeded')
    const isTrusted = origin === undefined || origin === URL.parse(url)?.origin
    const { status, body: answer } = await this.#outbound.exchange({
      service: 'kubernetes',
      method: body === undefined ? 'Get' : 'Post',
      url: (origin ?? url) + path,
      headers: {
        ...(bearer !== '' && isTrusted && { authorization: `Bearer ${bearer}` }),
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
      agent: this.#agent(origin ?? url, ca),
      timeoutMs,
      maxBytes,
    })
    return { status, body: answer.toString('utf8'), secrets: [bearer, jwt] }
  }

  /** Connections to another address, or that trust others, end once they are idle. */
  #agent(url: string, ca: string): Agent {
    const key = JSON.stringify([url, ca])
    if (this.#connections?.key !== key) {
      this.#connections = { key, agent: this.#outbound.connectionsTo(url, ca) }
    }
    return this.#connections.agent
  }
}
