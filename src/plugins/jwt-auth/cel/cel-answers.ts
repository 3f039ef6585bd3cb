import { z } from 'zod'
import type { DocumentedAnswer } from '../../../http/resource/resource.ts'
import { celRoleFields } from './cel-role.ts'

const text = z.string()

/** The responses of `auth/jwt/cel/…`, for the API document. docs/contract/cel.md */
export const celAnswers = {
  role: {
    statuses: [200],
    output: celRoleFields.extend({
      name: text,
      bound_audiences: z.array(text).describe('Accepted `aud` values'),
    }),
    example: {
      name: 'people',
      cel_program: { expression: "claims.team == 'shop' ? pb.Auth{policies: ['shop']} : false" },
      bound_audiences: ['https://vault.example.com'],
      clock_skew_leeway: 60,
      expiration_leeway: 150,
      not_before_leeway: 150,
      message: '',
    },
  },
  tried: {
    statuses: [200],
    output: z.object({
      valid: z.boolean(),
      error: text,
      variables: z.array(z.object({ name: text, value: text, error: text })),
      result: z
        .object({ kind: z.enum(['auth', 'denied', 'message', 'error', 'type']), value: z.unknown() })
        .nullable(),
    }),
    example: {
      valid: true,
      error: '',
      variables: [{ name: 'person', value: '"person:alice"', error: '' }],
      result: { kind: 'auth', value: { policies: ['shop'] } },
    },
  },
} as const satisfies Record<string, DocumentedAnswer>
