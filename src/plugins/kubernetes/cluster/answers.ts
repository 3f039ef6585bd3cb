import { z } from 'zod'
import { excerpt } from '../../../lib/text/go-text.ts'
import { parseFinite } from '../../../lib/text/json.ts'
import { redactSecrets } from '../../../logins/refusals/redact.ts'
import { comparing, discreetRefusal, type Refusal } from '../../../logins/refusals/refusal.ts'
import type { Account } from '../login/account.ts'

const texts = z.array(z.string())

const tokenReview = z.object({
  status: z.object({
    authenticated: z.boolean().optional(),
    error: z.string().optional(),
    audiences: texts.nullish(),
    user: z.object({ username: z.string().optional(), uid: z.string().optional() }).optional(),
  }),
})

const labelled = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()).nullish() }) })
const annotated = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()).nullish() }),
})

/** An answer of the cluster. */
export type ClusterAnswer = {
  readonly status: number
  readonly body: string
  /** The tokens that the request brought. */
  readonly secrets: readonly string[]
}

const shownLength = 256

/** What an operator may see of an answer, which may repeat what it was sent. */
export const shownAnswer = ({ status, body, secrets }: ClusterAnswer): string =>
  excerpt(`${status}: ${redactSecrets(...secrets)(messageOf(body) ?? body)}`, shownLength)

/** The words of a `Status` object, or of a review that says no. */
function messageOf(body: string): string | undefined {
  const parsed: { message?: unknown; status?: { error?: unknown } } = Object(jsonOf(body))
  const { message, status } = parsed
  if (typeof message === 'string') return message
  return typeof status?.error === 'string' ? status.error : undefined
}

export function jsonOf(body: string): unknown {
  try {
    return parseFinite(body)
  } catch {
    return undefined
  }
}

/** A refusal whose cause the caller must not see. */
const no = (reason: Refusal['reason'], cause: string): Refusal =>
  discreetRefusal(reason, { text: 'permission denied', cause })

const isOk = (status: number): boolean => status >= 200 && status <= 206

/** What a review was asked; without an account, it may be of anybody. */
export type AskedReview = { readonly account: Account | undefined; readonly audiences: readonly string[] }

/**
 * Why a TokenReview does not accept a token; undefined if it does.
 * docs/contract/kubernetes.md#what-a-review-must-answer
 */
export function reviewRefusal(answer: ClusterAnswer, asked: AskedReview): Refusal | undefined {
  const shown = shownAnswer(answer)
  const failed = (reason: Refusal['reason']) => comparing(no(reason, shown), { expected: [], seen: shown })
  if (answer.status === 401) return failed('review_unauthorized')
  if (answer.status === 403) return failed('review_forbidden')
  const review = isOk(answer.status) ? tokenReview.safeParse(jsonOf(answer.body)) : undefined
  if (review?.success !== true) return failed('review_failed')
  const { authenticated, error = '', audiences, user } = review.data.status
  if (authenticated !== true || error !== '') return failed('review_refused')
  const hide = redactSecrets(...answer.secrets)
  if (asked.audiences.length > 0 && !asked.audiences.some((one) => audiences?.includes(one)))
    return comparing(no('review_audience', 'the cluster names none of the audiences that it was asked for'), {
      expected: asked.audiences,
      seen: audiences?.map(hide) ?? null,
    })
  if (asked.account === undefined) return undefined
  const { namespace, name, uid } = asked.account
  const username = `system:serviceaccount:${namespace}:${name}`
  if (user?.username === username && user.uid === uid && uid !== '') return undefined
  return comparing(no('review_mismatch', 'the cluster says that the token is of somebody else'), {
    expected: [username, uid],
    seen: [user?.username, user?.uid].map((text) => (text === undefined ? null : hide(text))),
  })
}

/** The labels of a namespace; undefined if the answer has none. */
export function labelsOf({ status, body }: ClusterAnswer): Readonly<Record<string, string>> | undefined {
  const parsed = status === 200 ? labelled.safeParse(jsonOf(body)) : undefined
  return parsed?.success === true ? (parsed.data.metadata.labels ?? {}) : undefined
}

/** The annotations of a service account; undefined if the answer has none. */
export function annotationsOf({ status, body }: ClusterAnswer): Readonly<Record<string, string>> | undefined {
  const parsed = status === 200 ? annotated.safeParse(jsonOf(body)) : undefined
  return parsed?.success === true ? (parsed.data.metadata.annotations ?? {}) : undefined
}
