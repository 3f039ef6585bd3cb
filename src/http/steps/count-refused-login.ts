import type { onSendHookHandler } from 'fastify'
import { callOf } from '../exchange/call.ts'
import type { RateLimits } from '../exchange/rate-limits.ts'

/** Counts a login that was refused, before its client can try again. docs/limits.md */
export const countRefusedLogin =
  (limiter: Pick<RateLimits, 'noteRefusedLogin'> | undefined): onSendHookHandler =>
  (request, _reply, _payload, done) => {
    const call = callOf(request.raw)
    if (call.isRefusedLogin) limiter?.noteRefusedLogin(call)
    call.isRefusedLogin = false
    done()
  }
