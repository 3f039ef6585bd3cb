import { UpstreamError } from '../upstream/index.ts'
import type { UpstreamWork } from '../upstream-work.ts'

/**
 * Whether a credential is proven before it is answered, for how long, and what becomes of one that is not
 * ready in time. docs/contract/cloud.md#ready-when-returned
 */
export type Readiness = { readonly limitMs: number; readonly onTimeout: 'return' | 'revoke' }

export type ReadyParts = Omit<UpstreamWork, 'serviceManagementReference'> & {
  readonly pause: (milliseconds: number, signal?: AbortSignal) => Promise<void>
}

/** The login service has several replicas: one that knows the secret says nothing of the others. */
const provenTimes = 3
const everyMs = 500

/**
 * Asks the login service with the new secret until it was accepted three times in a row; gives back the
 * seconds that took, undefined when the time was over.
 */
export async function untilReady(
  clientId: string,
  secret: string,
  limitMs: number,
  { upstream, call, clock, pause }: ReadyParts,
): Promise<number | undefined> {
  const begun = clock.now()
  const end = Math.min(begun + limitMs, call.deadline)
  for (let proven = 0; ; ) {
    const attempt = { ...call, deadline: end }
    let wait = everyMs
    try {
      proven = (await upstream.tokens.proveSecret(clientId, secret, 'directory', attempt)) ? proven + 1 : 0
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      // no answer proves nothing
      proven = 0
      wait = error.retryAfterMs ?? everyMs
    }
    if (proven === provenTimes) return Math.ceil((clock.now() - begun) / 1000)
    if (proven > 0) continue
    if (clock.now() + wait >= end || call.signal?.aborted === true) return undefined
    await pause(wait, call.signal)
  }
}
