import { setImmediate as nextTurn } from 'node:timers/promises'
import { Periodic } from '../background.ts'
import type { TokenRevoker } from './token-revoker.ts'

export type TokenSweeperParts = {
  readonly revoker: TokenRevoker
  /** Pause between two sweeps. */
  readonly intervalMs: number
  onError(error: unknown): void
}

/** Deletes expired tokens in the background, page by page; requests run between pages. */
export const tokenSweeper = ({ revoker, intervalMs, onError }: TokenSweeperParts): Periodic =>
  new Periodic({
    intervalMs,
    onError,
    run: async (stopping) => {
      let after: string | undefined
      while (!stopping.aborted) {
        const page = await revoker.sweepPage(after)
        if (page === undefined) return
        for (const failure of page.failures) onError(failure)
        after = page.last
        await nextTurn()
      }
    },
  })
