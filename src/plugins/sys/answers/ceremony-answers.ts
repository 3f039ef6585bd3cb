import { z } from 'zod'
import type { DocumentedAnswer } from '../../../http/resource/resource.ts'

/**
 * Schemas and examples of the responses of the ceremonies, for the OpenAPI document.
 * docs/contract/seal.md#ceremonies
 */

const text = z.string()
const count = z.int()
const flag = z.boolean()
const texts = z.array(text)
const nonce = '0b5ce2a8-61cd-4f57-9d4f-7f0c84e91b27'

const rekey = z.object({
  nonce: text,
  started: flag.optional(),
  t: count.optional(),
  n: count.optional(),
  progress: count.optional(),
  required: count.optional(),
  complete: flag.optional(),
  keys: texts.optional(),
  keys_base64: texts.optional(),
  pgp_fingerprints: texts.nullable(),
  backup: flag,
  verification_required: flag,
  verification_nonce: text.optional(),
})
const verification = z.object({
  nonce: text,
  started: flag.optional(),
  t: count.optional(),
  n: count.optional(),
  progress: count.optional(),
  complete: flag.optional(),
})

const started = {
  nonce,
  started: true,
  t: 3,
  n: 5,
  progress: 0,
  required: 3,
  pgp_fingerprints: null,
  backup: false,
  verification_required: false,
}
const begun = { nonce, started: true, t: 3, n: 5, progress: 1 }

export const ceremonyAnswers = {
  rekeyStatus: { output: rekey, example: started },
  verification: { output: verification, example: begun },
  backup: {
    output: z.object({ nonce: text, keys: z.record(text, texts), keys_base64: z.record(text, texts) }),
    example: {
      nonce,
      keys: { '41366b2d81210717ab57ad2ce4085ac9cdcf41ec': ['c15e03'] },
      keys_base64: { '41366b2d81210717ab57ad2ce4085ac9cdcf41ec': ['wV4D'] },
    },
  },
  generateRoot: {
    output: z.object({
      nonce: text,
      started: flag,
      progress: count,
      required: count,
      complete: flag,
      encoded_token: text,
      encoded_root_token: text,
      pgp_fingerprint: text,
      otp: text,
      otp_length: count,
    }),
    example: {
      nonce,
      started: true,
      progress: 1,
      required: 3,
      complete: false,
      encoded_token: '',
      encoded_root_token: '',
      pgp_fingerprint: '',
      otp: '',
      otp_length: 28,
    },
  },
  decodedToken: { output: z.object({ token: text }), example: { token: 'hvs.CAESIJmWMZp7FGvJ0X4nkq2Z' } },
} as const satisfies Record<string, DocumentedAnswer>
