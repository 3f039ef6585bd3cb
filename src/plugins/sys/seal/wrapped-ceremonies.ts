import { z } from 'zod'
import type { Core } from '../../../core/open/core.ts'
import type { GenerateRoot } from '../../../core/seal/generate-root.ts'
import type { Rekey } from '../../../core/seal/rekey.ts'
import type { RekeyResult } from '../../../core/seal/rekey-answers.ts'
import { readShare } from '../../../core/seal/shares.ts'
import { refuse } from '../../../errors.ts'
import { type Call, type Resource, resource } from '../../../http/resource/resource.ts'
import { boolField, intField, stringField, stringListField } from '../../../lib/text/fields.ts'
import { ceremonyAnswers } from '../answers/ceremony-answers.ts'
import { backupResource, told } from './after-ceremony.ts'

/** Nobody may learn of it but its participants. */
const secret = { sudo: true, isCeremony: true } as const

const shareInput = z.object({
  key: stringField
    .default('')
    .describe('A share, as hex or base64')
    .meta({
      writeOnly: true,
      examples: ['00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'],
    }),
  nonce: stringField.default('').describe('The nonce of what is in progress'),
})
const planInput = z.object({
  secret_shares: intField.default(0).describe('Number of shares of the new key'),
  secret_threshold: intField.default(0).describe('Number of shares that rebuild it'),
  pgp_keys: stringListField
    .default([])
    .describe('PGP public keys in base64, one for each share, which encrypt them'),
  backup: boolField.default(false).describe('Store the encrypted shares'),
  require_verification: boolField
    .default(false)
    .describe('Replace the key only once enough of its shares were offered to verify'),
})
const rootInput = z.object({
  otp: stringField.default('').describe('One-time password of 28 characters').meta({ writeOnly: true }),
  pgp_key: stringField.default('').describe('PGP public key in base64, which encrypts the token'),
})

/**
 * The ceremonies as logical paths, with an envelope: recent clients of OpenBao use them.
 * docs/contract/seal.md#with-an-envelope
 */
export function wrappedCeremonyResources({ ceremonies }: Pick<Core, 'ceremonies'>): Resource[] {
  const { rekey, recoveryRekey, generateRoot } = ceremonies
  return [
    ...rotateResources('/rotate/root', rekey),
    ...rotateResources('/rotate/recovery', recoveryRekey),
    ...generateRootResources(generateRoot),
  ]
}

function rotateResources(base: '/rotate/root' | '/rotate/recovery', rekey: Rekey): Resource[] {
  const status = async (call: Call, result?: RekeyResult) => ({
    data: told(call, result) ?? (await rekey.status()),
  })
  return [
    resource(`${base}/init`, {
      help: 'Replace a key that people hold in shares.',
      ...secret,
      read: {
        summary: 'Read what is in progress',
        ...ceremonyAnswers.rekeyStatus,
        handle: ({ call }) => status(call),
      },
      write: {
        summary: 'Begin to replace the key',
        input: planInput,
        ...ceremonyAnswers.rekeyStatus,
        handle: async ({ call, input }) =>
          status(
            call,
            await rekey.start({
              shares: input.secret_shares,
              threshold: input.secret_threshold,
              pgpKeys: input.pgp_keys,
              backup: input.backup,
              requiresVerification: input.require_verification,
            }),
          ),
      },
      delete: { summary: 'Cancel what is in progress', handle: () => rekey.cancel() },
    }),
    resource(`${base}/update`, {
      help: 'Authorize a new key by the shares of the present one.',
      ...secret,
      write: {
        summary: 'Offer a share of the present key; the last one returns the new shares',
        input: shareInput,
        ...ceremonyAnswers.rekeyStatus,
        handle: async ({ call, input }) => status(call, await rekey.update(offered(input), input.nonce)),
      },
    }),
    resource(`${base}/verify`, {
      help: 'Prove that the shares of a new key have arrived.',
      ...secret,
      read: {
        summary: 'Read the progress of the verification',
        ...ceremonyAnswers.verification,
        handle: async () => ({ data: await rekey.verification() }),
      },
      write: {
        summary: 'Offer a share of the new key',
        input: shareInput,
        ...ceremonyAnswers.verification,
        handle: async ({ input }) => ({
          data: (await rekey.verify(offered(input), input.nonce)) ?? (await rekey.verification()),
        }),
      },
      delete: {
        summary: 'Start the verification over',
        ...ceremonyAnswers.verification,
        handle: async () => ({ data: await rekey.restartVerification() }),
      },
    }),
    backupResource(`${base}/backup`, rekey),
  ]
}

function generateRootResources(generateRoot: GenerateRoot): Resource[] {
  return [
    resource('/generate-root-token/attempt', {
      help: 'Generate a root token that the holders of a key authorize.',
      ...secret,
      read: {
        summary: 'Read what is in progress',
        ...ceremonyAnswers.generateRoot,
        handle: async () => ({ data: await generateRoot.status() }),
      },
      write: {
        summary: 'Begin to generate a root token',
        input: rootInput,
        ...ceremonyAnswers.generateRoot,
        handle: async ({ input: { otp, pgp_key: pgpKey } }) => ({
          data: await generateRoot.start({ otp, pgpKey }),
        }),
      },
      delete: { summary: 'Cancel what is in progress', handle: () => generateRoot.cancel() },
    }),
    resource('/generate-root-token/update', {
      help: 'Authorize a root token by shares.',
      ...secret,
      write: {
        summary: 'Offer a share; the last one returns the encoded root token',
        input: shareInput,
        ...ceremonyAnswers.generateRoot,
        handle: async ({ input }) => ({ data: await generateRoot.update(offered(input), input.nonce) }),
      },
    }),
  ]
}

function offered({ key, nonce }: z.output<typeof shareInput>): Buffer {
  if (key === '') throw refuse('invalid', "missing required field 'key'")
  if (nonce === '') throw refuse('invalid', "missing required field 'nonce'")
  return readShare(key)
}
