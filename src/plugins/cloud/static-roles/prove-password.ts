import { fail } from '../../../errors.ts'
import { classify, UpstreamError } from '../upstream/index.ts'
import { callWithin } from '../upstream-work.ts'
import type { StaticWork } from './static-work.ts'

/** A new password must be accepted this many times in a row: the login service has several replicas. */
const proofs = 2
const everyMs = 5_000
const limitMs = 10 * 60_000
const unknownSecret = 'AADSTS7000215'

type Proving = Pick<StaticWork, 'state' | 'clock' | 'correlationId' | 'signal' | 'pause'>

/**
 * Signs in until that was accepted twice in a row. After ten minutes, a refusal that does not concern the password,
 * such as conditional access, counts as a proof and is returned, else an empty text. Throws if the password does not
 * work. docs/cloud-static-roles.md#rotation
 */
export async function provePassword(
  { clientId, secret }: { readonly clientId: string; readonly secret: string },
  { state, clock, correlationId, signal, pause }: Proving,
): Promise<string> {
  const end = clock.now() + limitMs
  const client = { clientId, proof: { secret } }
  const login = await state.exchange()
  for (let proven = 0; ; ) {
    try {
      await login.exchange(client, login.readyScope, callWithin(clock, correlationId, signal))
      proven += 1
      if (proven === proofs) return ''
      continue
    } catch (error) {
      if (!(error instanceof UpstreamError) || signal.aborted) throw error
      proven = 0
      if (clock.now() + everyMs > end) {
        if (isAboutSomethingElse(error)) return error.message
        throw error
      }
    }
    await pause(everyMs, signal)
    if (signal.aborted) throw fail('unavailable', 'the rotation was interrupted')
  }
}

/** Whether the login service refuses the application, and not the password. */
const isAboutSomethingElse = (error: UpstreamError): boolean =>
  error.service === 'login' &&
  error.status >= 400 &&
  error.status < 500 &&
  error.code.startsWith('AADSTS') &&
  error.code !== unknownSecret &&
  classify(error).kind !== 'throttled'
