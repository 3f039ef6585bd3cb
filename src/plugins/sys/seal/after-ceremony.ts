import { z } from 'zod'
import type { Core } from '../../../core/open/core.ts'
import { xor } from '../../../core/seal/generate-root.ts'
import type { Rekey } from '../../../core/seal/rekey.ts'
import type { RekeyResult } from '../../../core/seal/rekey-answers.ts'
import { refuse } from '../../../errors.ts'
import { type Call, type Resource, resource } from '../../../http/resource/resource.ts'
import { stringField } from '../../../lib/text/fields.ts'
import { ceremonyAnswers } from '../answers/ceremony-answers.ts'

const decodeInput = z.object({
  encoded_token: stringField.default('').describe('The encoded token'),
  otp: stringField.default('').describe('The one-time password').meta({ writeOnly: true }),
})

/** What follows a ceremony. docs/contract/seal.md#rekey, docs/contract/seal.md#generate-root */
export function afterCeremonyResources({ ceremonies }: Pick<Core, 'ceremonies'>): Resource[] {
  const { rekey, recoveryRekey } = ceremonies
  return [
    backupResource('/rekey/backup', rekey),
    backupResource('/rekey/recovery-key-backup', recoveryRekey),
    backupResource('/rekey-recovery-key/backup', recoveryRekey),
    resource('/decode-token', {
      help: 'The root token of sys/generate-root.',
      open: true,
      isCeremony: true,
      write: {
        summary: 'Decode a generated root token',
        ...ceremonyAnswers.decodedToken,
        input: decodeInput,
        handle: ({ input: { encoded_token, otp } }) => ({ data: { token: decoded(encoded_token, otp) } }),
      },
    }),
  ]
}

export const backupResource = (path: `/${string}`, rekey: Rekey): Resource =>
  resource(path, {
    help: 'The shares of the last rekey with a backup, encrypted by PGP.',
    sudo: true,
    read: {
      summary: 'Read the encrypted shares',
      ...ceremonyAnswers.backup,
      handle: async () => {
        const { nonce, keys } = await rekey.backup()
        const inBase64 = Object.entries(keys).map(([fingerprint, shares]) => [
          fingerprint,
          shares.map((share) => Buffer.from(share, 'hex').toString('base64')),
        ])
        return { data: { nonce, keys, keys_base64: Object.fromEntries(inBase64) } }
      },
    },
    delete: { summary: 'Delete the encrypted shares', handle: () => rekey.deleteBackup() },
  })

/**
 * The result of a rekey, for the response to this call. Once the key was replaced, nobody has a copy of its
 * shares but the client that gets this response.
 */
export function told(
  { trail }: Pick<Call, 'trail'>,
  result: RekeyResult | undefined,
): RekeyResult | undefined {
  if (result?.verification_required === false && trail !== undefined) trail.mustArrive = true
  return result
}

function decoded(encoded: string, otp: string): string {
  if (!/^[A-Za-z0-9+/]*$/.test(encoded) || encoded.length % 4 === 1)
    throw refuse('invalid', "error decoding base64'd token: illegal base64 data")
  const hidden = Buffer.from(encoded, 'base64')
  const pad = Buffer.from(otp)
  if (hidden.length !== pad.length)
    throw refuse(
      'invalid',
      `error xoring token: length of byte slices is not equivalent: ${hidden.length} != ${pad.length}`,
    )
  return xor(hidden, pad).toString()
}
