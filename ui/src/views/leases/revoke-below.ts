import { ApiError } from '../../api/errors.ts'
import { leasesBelow, revokePrefix } from '../../api/leases.ts'

/** How far a revocation has come. */
export type Revocation = {
  readonly found: number
  readonly revoked: number
  /** Those that their provider refuses to revoke. */
  readonly failed: number
  /** The text of the first of them. */
  readonly failure?: unknown
  readonly step: 'finding' | 'revoking' | 'done' | 'stopped'
}

export const notBegun: Revocation = { found: 0, revoked: 0, failed: 0, step: 'finding' }

/** A browser makes at most six calls at once, and the page makes others. */
const atOnce = 4

/**
 * Revokes every lease below a prefix, several at once. Ends when the signal says so: the others stay. Goes on after a
 * lease that its provider refuses to revoke, and throws any other refusal.
 */
export async function revokeBelow(
  prefix: string,
  signal: AbortSignal,
  report: (state: Revocation) => void,
): Promise<void> {
  const ids: string[] = []
  for await (const some of leasesBelow(prefix, signal)) {
    ids.push(...some)
    report({ ...notBegun, found: ids.length })
  }
  let state: Revocation = { ...notBegun, found: ids.length, step: 'revoking' }
  report(state)
  const waiting = ids.values()
  const revokeOnes = async () => {
    for (const path of waiting) {
      signal.throwIfAborted()
      // by the id as a prefix: whoever may revoke all of them may revoke each
      const failure = await refusalOf(revokePrefix({ params: { path }, body: { sync: true } }, { signal }))
      state =
        failure === undefined
          ? { ...state, revoked: state.revoked + 1 }
          : { ...state, failed: state.failed + 1, failure: state.failure ?? failure }
      report(state)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, revokeOnes))
  report({ ...state, step: 'done' })
}

async function refusalOf(revocation: Promise<unknown>): Promise<ApiError | undefined> {
  try {
    await revocation
    return undefined
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return error
    throw error
  }
}
