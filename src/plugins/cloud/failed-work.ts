import type { IntentLog } from './intents/intent.ts'
import { UpstreamError } from './upstream/index.ts'

/** May a call that failed so have done what it was to do? Not when upstream refused it. */
export const mayHaveHappened = (error: unknown): boolean => !(error instanceof UpstreamError) || error.lost || error.status >= 500

/**
 * Ends the intents of work that failed: what a refused first call cannot have made needs no undoing. `made` says whether anything was made before.
 * Rejects never: what cannot be settled now is undone, which finds nothing.
 */
export async function endFailed(intents: IntentLog, ids: readonly string[], { error, made }: { error: unknown; made: boolean }): Promise<void> {
  if (!made && !mayHaveHappened(error)) {
    try {
      await intents.settle(ids)
      return
    } catch {
      // storage does not write: the undoing goes on until it does
    }
  }
  intents.undo(ids)
}
