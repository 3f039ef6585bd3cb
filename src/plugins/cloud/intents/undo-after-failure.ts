import { isUnsent, type UpstreamCall, UpstreamError } from '../upstream/index.ts'
import type { Intents } from './intents.ts'

/** Whether a failed call may have taken effect. It has not if upstream refused it. */
const mayHaveHappened = (error: unknown): boolean =>
  !(error instanceof UpstreamError) || error.lost || error.status >= 500

/** Nobody received its answer, or a gateway answered in place of the service. */
export const mayComeLate = (error: unknown): boolean =>
  !(error instanceof UpstreamError) ||
  (!isUnsent(error) && (error.status === 0 || error.status === 408 || error.status >= 500))

/** A call of which is known whether one of its tries may still take effect after the last one was answered. */
type WatchedCall = { readonly call: UpstreamCall; readonly isUnderway: () => boolean }

export function watchTries(call: UpstreamCall): WatchedCall {
  let isUnderway = false
  const onRetry = (failure: UpstreamError): void => {
    isUnderway ||= mayComeLate(failure)
  }
  return { call: { ...call, onRetry }, isUnderway: () => isUnderway }
}

type Failure = {
  readonly error: unknown
  /** Whether an earlier call of the sequence created anything. */
  readonly made: boolean
  /** Whether a right that was requested may still be granted. */
  readonly isUnderway?: boolean | undefined
}

/** Undoes the intents of a failed sequence, or settles them if upstream refused its first call. Never rejects. */
export async function undoAfterFailure(
  intents: Pick<Intents, 'settle' | 'undo'>,
  ids: readonly string[],
  { error, made, isUnderway }: Failure,
): Promise<void> {
  if (!made && !mayHaveHappened(error)) {
    try {
      await intents.settle(ids)
      return
    } catch {
      // the storage cannot write: undo the intents instead, which retries and finds nothing upstream
    }
  }
  await intents.undo(ids, { isUnderway })
}
