import type { FastifyInstance } from 'fastify'
import type { Host } from '../exchange/host.ts'
import type { RateLimits } from '../exchange/rate-limits.ts'
import { addHeaders, type HeadersParts } from './add-headers.ts'
import { admit } from './admit.ts'
import { type BeginParts, begin } from './begin.ts'
import { convertWithZod } from './convert-fields.ts'
import { countRefusedLogin } from './count-refused-login.ts'
import { putInEnvelope } from './envelope.ts'
import { holdResponse } from './hold-response.ts'
import { readBodyStep } from './read-body.ts'
import { recordRequest } from './record-request.ts'
import { recordResponse } from './record-response.ts'
import { type RefusalParts, refuse } from './refuse.ts'
import { type HeadParts, settleHead } from './settle-head.ts'
import { type PlaceParts, takePlace } from './take-place.ts'
import { wrap } from './wrap.ts'

export type StepParts = BeginParts &
  HeadParts &
  PlaceParts &
  RefusalParts &
  HeadersParts & {
    readonly limiter: Pick<RateLimits, keyof RateLimits> | undefined
    readonly host: Pick<Host, 'wrap'>
  }

/**
 * What every request passes, in this order. The router has found its mount before (`mount-router.ts`), and its handler
 * runs after `convertWithZod`. docs/architecture.md
 */
export function addSteps(app: FastifyInstance, parts: StepParts): void {
  app.decorateRequest('endpoint')
  app.addHook('onRequest', begin(parts))
  app.addHook('onRequest', settleHead(parts))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', readBodyStep(parts))
  app.addHook('preValidation', takePlace(parts))
  app.addHook('preValidation', admit(parts))
  app.addHook('preValidation', recordRequest(parts))
  app.setValidatorCompiler(convertWithZod)
  app.addHook('preSerialization', putInEnvelope)
  app.addHook('onSend', wrap(parts.host))
  app.addHook('onSend', holdResponse(parts))
  app.addHook('onSend', recordResponse(parts))
  app.addHook('onSend', countRefusedLogin(parts.limiter))
  app.addHook('onSend', addHeaders(parts))
  app.setErrorHandler(refuse(parts))
}
