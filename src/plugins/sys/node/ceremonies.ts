import { z } from 'zod'
import type { Core } from '../../../core/open/core.ts'
import type { Rekey } from '../../../core/seal/rekey.ts'
import type { RekeyResult } from '../../../core/seal/rekey-answers.ts'
import { readShare } from '../../../core/seal/shares.ts'
import { refuse } from '../../../errors.ts'
import {
  type Answer,
  jsonAnswer,
  type NodeExchange,
  type NodeResource,
  type NodeSpec,
  nodeResource,
} from '../../../http/resource/node-resource.ts'
import type { JsonLimits } from '../../../lib/text/json.ts'
import { ceremonyAnswers } from '../answers/ceremony-answers.ts'
import { readStruct } from '../answers/struct-body.ts'
import { told } from '../seal/after-ceremony.ts'
import { checkSudo } from './node-access.ts'

type OpenCeremony = 'rekey' | 'generate-root'

export type CeremonyRouteParts = {
  /** Throws `sealed`. */
  core(): Pick<Core, 'ceremonies' | 'access'>
  readonly openCeremonies: readonly OpenCeremony[]
  readonly jsonLimits: JsonLimits
}

const share = z.string().meta({ description: 'A share, as hex or base64', writeOnly: true })
const nonce = z.string().describe('The nonce of what is in progress')
const shareBody = z.object({ key: share, nonce })
const rekeyBody = z.object({
  secret_shares: z.int().describe('Number of shares of the new key'),
  secret_threshold: z.int().describe('Number of shares that rebuild it'),
  pgp_keys: z
    .array(z.string())
    .optional()
    .describe('PGP public keys in base64, one for each share, which encrypt them'),
  backup: z.boolean().optional().describe('Store the encrypted shares'),
  require_verification: z
    .boolean()
    .optional()
    .describe('Replace the key only once enough of its shares were offered to verify'),
})
const rootBody = z.object({
  otp: z.string().optional().meta({ description: 'One-time password of 28 characters', writeOnly: true }),
  pgp_key: z.string().optional().describe('PGP public key in base64, which encrypts the token'),
})

/**
 * What the holders of a key do together: replace it, or generate a root token. Bodies and responses have no
 * envelope. docs/contract/seal.md#ceremonies
 */
export function ceremonyResources(parts: CeremonyRouteParts): NodeResource[] {
  return [
    ...rekeyResources('/sys/rekey', parts, ({ rekey }) => rekey),
    ...rekeyResources('/sys/rekey-recovery-key', parts, ({ recoveryRekey }) => recoveryRekey),
    ...generateRootResources(parts),
  ]
}

function rekeyResources(
  base: '/sys/rekey' | '/sys/rekey-recovery-key',
  parts: CeremonyRouteParts,
  find: (ceremonies: Core['ceremonies']) => Rekey,
): NodeResource[] {
  const { jsonLimits } = parts
  const serve = serving('rekey', parts)
  const answer = async ({ call }: NodeExchange, rekey: Rekey, result: RekeyResult | undefined) =>
    jsonAnswer(200, told(call, result) ?? (await rekey.status()))
  return [
    nodeResource(`${base}/init`, {
      verbs: ['POST', 'PUT', 'GET', 'DELETE'],
      summary: 'Begin to replace the key; GET reads what is in progress, DELETE cancels it',
      body: rekeyBody,
      answer: ceremonyAnswers.rekeyStatus,
      needs: 'sudo',
      ...serve(async ({ ceremonies, access }, exchange) => {
        const rekey = find(ceremonies)
        if (exchange.call.verb === 'GET') return await answer(exchange, rekey, undefined)
        if (exchange.call.verb === 'DELETE') {
          await rekey.cancel()
          return done
        }
        const sent = readStruct(exchange.body, jsonLimits, 'RekeyRequest', rekeyBody)
        // nobody holds shares that could authorize the first key, and an open ceremony has checked nobody
        if (exchange.call.caller === undefined && (await rekey.isFirst()))
          await checkSudo({ access }, exchange)
        return await answer(
          exchange,
          rekey,
          await rekey.start({
            shares: sent.secret_shares,
            threshold: sent.secret_threshold,
            pgpKeys: sent.pgp_keys,
            backup: sent.backup,
            requiresVerification: sent.require_verification,
          }),
        )
      }),
    }),
    nodeResource(`${base}/update`, {
      verbs: ['POST', 'PUT'],
      summary: 'Offer a share of the present key; the last one returns the new shares',
      body: shareBody,
      answer: ceremonyAnswers.rekeyStatus,
      needs: 'sudo',
      ...serve(async ({ ceremonies }, exchange) => {
        const sent = readOffer(exchange.body, jsonLimits, 'RekeyUpdateRequest')
        const rekey = find(ceremonies)
        return await answer(exchange, rekey, await rekey.update(sent.share, sent.nonce))
      }),
    }),
    nodeResource(`${base}/verify`, {
      verbs: ['POST', 'PUT', 'GET', 'DELETE'],
      summary: 'Offer a share of the new key; GET reads the progress, DELETE restarts the verification',
      body: shareBody,
      answer: ceremonyAnswers.verification,
      needs: 'sudo',
      ...serve(async ({ ceremonies }, { body, call: { verb } }) => {
        const rekey = find(ceremonies)
        if (verb === 'GET') return jsonAnswer(200, await rekey.verification())
        if (verb === 'DELETE') return jsonAnswer(200, await rekey.restartVerification())
        const sent = readOffer(body, jsonLimits, 'RekeyVerificationUpdateRequest')
        const result = await rekey.verify(sent.share, sent.nonce)
        return jsonAnswer(200, result ?? (await rekey.verification()))
      }),
    }),
  ]
}

function generateRootResources(parts: CeremonyRouteParts): NodeResource[] {
  const { jsonLimits } = parts
  const serve = serving('generate-root', parts)
  return [
    nodeResource('/sys/generate-root/attempt', {
      verbs: ['POST', 'PUT', 'GET', 'DELETE'],
      summary: 'Begin to generate a root token; GET reads what is in progress, DELETE cancels it',
      body: rootBody,
      answer: ceremonyAnswers.generateRoot,
      needs: 'sudo',
      ...serve(async ({ ceremonies: { generateRoot } }, { body, call: { verb } }) => {
        if (verb === 'GET') return jsonAnswer(200, await generateRoot.status())
        if (verb === 'DELETE') {
          await generateRoot.cancel()
          return done
        }
        const { otp, pgp_key: pgpKey } = readStruct(body, jsonLimits, 'GenerateRootInitRequest', rootBody)
        return jsonAnswer(200, await generateRoot.start({ otp, pgpKey }))
      }),
    }),
    nodeResource('/sys/generate-root/update', {
      verbs: ['POST', 'PUT'],
      summary: 'Offer a share; the last one returns the encoded root token',
      body: shareBody,
      answer: ceremonyAnswers.generateRoot,
      needs: 'sudo',
      ...serve(async ({ ceremonies: { generateRoot } }, { body }) => {
        const sent = readOffer(body, jsonLimits, 'GenerateRootUpdateRequest', 'invalid key: ')
        return jsonAnswer(200, await generateRoot.update(sent.share, sent.nonce))
      }),
    }),
  ]
}

const done: Answer = { status: 204, contentType: 'application/json' }

type Handle = (core: ReturnType<CeremonyRouteParts['core']>, exchange: NodeExchange) => Promise<Answer>

/**
 * Serves callers with `update` and `sudo` on the path; everyone if the setting says so. Without a token, the
 * path does not exist: anyone could hold the only place.
 */
const serving =
  (name: OpenCeremony, { core, openCeremonies }: CeremonyRouteParts) =>
  (handle: Handle): Pick<NodeSpec, 'audited' | 'handle'> => ({
    audited: {
      entries: 'both',
      admit: async (exchange) => {
        const opened = core()
        if (openCeremonies.includes(name)) return
        if (exchange.presented() === '') throw refuse('unsupported', 'unsupported operation')
        await checkSudo(opened, exchange)
      },
    },
    handle: (exchange) => handle(core(), exchange),
  })

/** The share that a body offers. Its text stays in memory until the engine reuses it. */
function readOffer(
  body: Uint8Array | undefined,
  limits: JsonLimits,
  name: string,
  lengthPrefix = '',
): { share: Buffer; nonce: string } {
  const { key, nonce } = readStruct(body, limits, name, shareBody)
  if (key === '') throw refuse('invalid', "'key' must be specified in request body as JSON")
  return { share: readShare(key, lengthPrefix), nonce }
}
