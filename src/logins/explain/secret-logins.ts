import { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import type { RefusedLogin } from '../../core/tokens/acts/login-reports.ts'
import { fail, ServiceError } from '../../errors.ts'
import { errorReply, type Resource, resource } from '../../http/resource/resource.ts'
import { stringField } from '../../lib/text/fields.ts'
import { checkNamed } from '../refusals/refusal.ts'
import { explainAnswers } from './explain-answers.ts'
import {
  type Asking,
  answerOf,
  explainedFailure,
  failureResources,
  foundFailure,
  maySendExplain,
  type SeenFailure,
} from './explain-replies.ts'
import type { LoginFailures, NewFailure, SentFacts, TracedFailure } from './login-failures.ts'
import type { LoginSteps } from './login-steps.ts'
import type { OfTheCall } from './record-refused.ts'

type Described = {
  readonly refused: RefusedLogin
  readonly steps: LoginSteps
  /** "" unless it exists. */
  readonly role: string
  readonly subject: string
  readonly discreet: SentFacts['discreet']
}

/** The record of a refused login by a name and a secret, which has nothing of the secret. */
export function failureOf({
  refused: { reason, error },
  steps,
  role,
  subject,
  discreet,
}: Described): Omit<NewFailure, OfTheCall> {
  const told =
    error instanceof ServiceError
      ? { error: error.message, cause: error.operatorText ?? '', status: errorReply(error, true).status }
      : { error: 'internal error', cause: '', status: 500 }
  return {
    path: 'login',
    role,
    roleExists: role !== '',
    reason,
    check: checkNamed(reason),
    ...told,
    verified: false,
    sent: () => ({ alg: '', kid: '', claims: {}, subject, discreet, kept: undefined }),
    trace: { checks: steps.explained(reason), clock: undefined },
  }
}

type Parts = {
  failuresOf(mount: Mount): LoginFailures
  /** Whether the caller may see failures of this role. */
  isSeen(exchange: Asking, failure: SeenFailure): boolean
  /** Whether the caller, who may use `explain`, may see all of this failure. */
  mayExplain(exchange: Asking, failure: TracedFailure): boolean
}

const failureInput = z.object({ request_id: stringField.describe('Request whose refusal to explain') })

/** `explain` of refused logins, `failures` and `failures/hash` of methods without tokens to try. docs/explain.md */
export function refusedLoginResources({ failuresOf, isSeen, mayExplain }: Parts): Resource[] {
  const handle = (exchange: Asking & { readonly input: z.output<typeof failureInput> }) => {
    const found = foundFailure(failuresOf(exchange.mount), exchange.input.request_id)
    if (!isSeen(exchange, found.failure) || !mayExplain(exchange, found))
      throw fail('denied', 'permission denied')
    return answerOf(exchange, explainedFailure(found))
  }
  const explained = { ...explainAnswers.explanation, summary: 'Explain a refused login', input: failureInput }
  return [
    resource('/explain', {
      help: 'Why a login was refused, check by check.',
      passesReadOnly: true,
      read: { ...explained, handle },
      write: { ...explained, handle },
    }),
    ...failureResources({
      failuresOf,
      isSeen,
      mayExplain: (exchange, failure) => maySendExplain(exchange) && mayExplain(exchange, failure),
    }),
  ]
}
