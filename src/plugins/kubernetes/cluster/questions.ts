import { OutboundError } from '../../../core/outbound/outbound.ts'
import { discreetRefusal, type Refusal } from '../../../logins/refusals/refusal.ts'
import type { Account } from '../login/account.ts'
import { annotationsOf, type ClusterAnswer, labelsOf, reviewRefusal, shownAnswer } from './answers.ts'
import type { Asking, ClusterClient } from './cluster-client.ts'

/** How the last review of a mount ended. */
export type LastReview = { readonly time: number; readonly reason: string; readonly text: string }

type Parts = {
  readonly client: ClusterClient
  readonly asking: Asking
  /** Runs a review when it is this client's turn. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
  noteReview(refused: Refusal | undefined): void
}

const reviews = '/apis/authentication.k8s.io/v1/tokenreviews'
const namespaces = '/api/v1/namespaces'

/** Labels or annotations, or why there are none. */
type Found = { readonly found: Readonly<Record<string, string>> } | { readonly refused: Refusal }

/** What one login asks the cluster. The names in its paths are checked before. */
export class ClusterQuestions {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Why the cluster does not accept the token; undefined if it does. */
  async review(about: {
    readonly account: Account | undefined
    readonly audiences: readonly string[]
  }): Promise<Refusal | undefined> {
    const { asking, inTurn, noteReview } = this.#parts
    const { jwt } = asking
    const { audiences } = about
    const refused = await inTurn(async () => {
      const answer = await this.#answer({
        path: reviews,
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          metadata: {},
          spec: { token: jwt, ...(audiences.length > 0 && { audiences }) },
          status: { user: {} },
        },
      })
      return typeof answer === 'string'
        ? discreetRefusal('review_unreachable', { text: 'permission denied', cause: answer })
        : reviewRefusal(answer, about)
    })
    noteReview(refused)
    return refused
  }

  /** The labels of a namespace. They are not asked for with the caller's own token. */
  async labels(namespace: string): Promise<Found> {
    const { client, asking } = this.#parts
    const unavailable = (cause: string) => ({
      refused: discreetRefusal('namespace_labels_unavailable', { text: 'namespace not authorized', cause }),
    })
    if ((await client.reviewer(asking)).kind === 'caller')
      return unavailable('a selector needs token_reviewer_jwt, or the token of the own service account')
    const answer = await this.#answer({ path: `${namespaces}/${namespace}` })
    if (typeof answer === 'string') return unavailable(answer)
    const found = labelsOf(answer)
    return found === undefined ? unavailable(shownAnswer(answer)) : { found }
  }

  /** False if the cluster forbids it. Each cluster has this namespace. */
  async mayGetNamespaces(): Promise<boolean> {
    const answer = await this.#answer({ path: `${namespaces}/default` })
    return typeof answer === 'string' || answer.status !== 403
  }

  /** The annotations of a service account. */
  async annotations({ namespace, name }: Account): Promise<Found> {
    const answer = await this.#answer({ path: `${namespaces}/${namespace}/serviceaccounts/${name}` })
    const found = typeof answer === 'string' ? undefined : annotationsOf(answer)
    if (found !== undefined) return { found }
    const cause = typeof answer === 'string' ? answer : shownAnswer(answer)
    return { refused: discreetRefusal('annotations_unavailable', { text: 'permission denied', cause }) }
  }

  /** A text says why there is none. */
  async #answer(request: Parameters<ClusterClient['ask']>[1]): Promise<ClusterAnswer | string> {
    const { client, asking } = this.#parts
    try {
      return await client.ask(asking, request)
    } catch (error) {
      if (error instanceof OutboundError) return error.message
      throw error
    }
  }
}
