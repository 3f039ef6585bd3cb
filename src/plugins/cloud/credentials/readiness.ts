import { type Pause, UpstreamError } from '../upstream/index.ts'
import type { Proof } from '../upstream/transport.ts'
import type { UpstreamWork } from '../upstream-work.ts'

/**
 * How long to wait for a credential, and what becomes of one that is late.
 * docs/contract/cloud.md#ready-when-returned
 */
export type Readiness = { readonly limitMs: number; readonly onTimeout: 'return' | 'revoke' }

export type ReadyParts = UpstreamWork & { readonly pause: Pause }

/** The login service has several replicas, and one that knows the secret proves nothing about the others. */
const provenTimes = 3
const everyMs = 500

/**
 * Signs in until that was accepted three times in a row. Returns after how many seconds, or undefined if it was not.
 */
export async function untilReady(
  clientId: string,
  proof: Proof,
  limitMs: number,
  { upstream, call, clock, pause }: ReadyParts,
): Promise<number | undefined> {
  const begun = clock.now()
  const end = Math.min(begun + limitMs, call.deadline)
  for (let proven = 0; ; ) {
    const attempt = { ...call, deadline: end }
    let wait = everyMs
    try {
      proven = (await upstream.tokens.prove(clientId, proof, 'directory', attempt)) ? proven + 1 : 0
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      // a failure interrupts the series
      proven = 0
      wait = error.retryAfterMs ?? everyMs
    }
    if (proven === provenTimes) return Math.ceil((clock.now() - begun) / 1000)
    if (proven > 0) continue
    if (clock.now() + wait >= end || call.signal?.aborted === true) return undefined
    await pause(wait, call.signal)
  }
}
