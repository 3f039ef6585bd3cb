import type { IntentLog } from './intent.ts'
import { isUnsent, UpstreamError } from '../upstream/index.ts'

/** May a call that failed so have done what it was to do? Not when upstream refused it. */
const mayHaveHappened = (error: unknown): boolean =>
  !(error instanceof UpstreamError) || error.lost || error.status >= 500

/**
 * May a call that failed so still be done? Nobody waits for its answer any longer, or who answered was not
 * the one that does it.
 */
export const mayComeLate = (error: unknown): boolean =>
  !(error instanceof UpstreamError) ||
  (!isUnsent(error) && (error.status === 0 || error.status === 408 || error.status >= 500))

/** How work has failed. */
export type Failure = {
  readonly error: unknown
  /** Whether anything was made before. */
  readonly made: boolean
  /** Whether a right that was asked for may still be given. */
  readonly isUnderway?: boolean | undefined
}

/**
 * Ends the intents of work that failed: what a refused first call cannot have made needs no undoing.
 * Rejects never: what cannot be settled now is undone, which finds nothing.
 */
export async function endFailed(
  intents: IntentLog,
  ids: readonly string[],
  { error, made, isUnderway }: Failure,
): Promise<void> {
  if (!made && !mayHaveHappened(error)) {
    try {
      await intents.settle(ids)
      return
    } catch {
      // storage does not write: the undoing goes on until it does
    }
  }
  intents.undo(ids, { isUnderway })
}
