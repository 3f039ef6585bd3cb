import { setImmediate as nextTurn } from 'node:timers/promises'
import { Periodic, type Timing } from '../../jobs/background.ts'
import type { TokenRevoker } from './token-revoker.ts'

export type TokenSweeperParts = Timing & { readonly revoker: TokenRevoker }

/** Deletes expired tokens in the background, page by page; requests run between pages. */
export const tokenSweeper = ({ revoker, ...timing }: TokenSweeperParts): Periodic =>
  new Periodic({
    ...timing,
    run: async (stopping) => {
      let after: string | undefined
      while (!stopping.aborted) {
        const page = await revoker.sweepPage(after)
        if (page === undefined) return
        for (const failure of page.failures) timing.onError(failure)
        after = page.last
        await nextTurn()
      }
    },
  })
