import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Core } from '../../core/open/core.ts'
import { refuse } from '../../errors.ts'
import { type Reply, type Resource, resource } from '../../http/resource/resource.ts'
import { isBase64 } from '../../lib/text/base64.ts'
import { intField, stringField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { answers } from './answers/answers.ts'

const randomInput = z.object({
  bytes: intField.default(32).describe('Number of bytes'),
  format: stringField
    .default('base64')
    .describe('base64 or hex')
    .meta({ examples: ['base64', 'hex'] }),
  source: stringField
    .default('platform')
    .describe('platform, seal or all; this server has one source for all of them')
    .meta({ examples: ['platform', 'seal', 'all'] }),
})
const hashInput = z.object({
  input: stringField
    .default('')
    .describe('Input in base64')
    .meta({ examples: ['aGVsbG8='] }),
  format: stringField
    .default('hex')
    .describe('hex or base64')
    .meta({ examples: ['hex', 'base64'] }),
  algorithm: stringField
    .default('sha2-256')
    .describe('sha2-224, sha2-256, sha2-384, sha2-512, or sha3 with the same lengths')
    .meta({ examples: ['sha2-256', 'sha2-512'] }),
})

const mostBytes = 131_072
const sources = new Set(['platform', 'seal', 'all'])
const algorithms = new Map(
  [224, 256, 384, 512].flatMap((bits) => [
    [`sha2-${bits}`, `sha${bits}`],
    [`sha3-${bits}`, `sha3-${bits}`],
  ]),
)

/** `sys/tools`: random bytes and digests. docs/contract/http.md#help-counters-tools */
export function toolResources({ random }: Pick<Core, 'random'>): Resource[] {
  const randomBytes = (input: z.output<typeof randomInput>): Reply => {
    if (input.bytes < 1) throw refuse('invalid', "'bytes' cannot be less than 1")
    if (input.bytes > mostBytes) throw refuse('invalid', `'bytes' should be less than ${mostBytes}`)
    if (!sources.has(input.source))
      throw refuse(
        'invalid',
        `unsupported entropy source ${quoted(input.source)}; must be "platform" or "seal", or "all"`,
      )
    return {
      data: {
        random_bytes: encoded(Buffer.from(random.bytes(input.bytes)), input.format, quoted(input.format)),
      },
    }
  }
  const help = 'Random bytes.'
  const digest = { summary: 'Compute a digest', ...answers.digest, input: hashInput }
  return [
    resource('/tools/random', {
      help,
      passesReadOnly: true,
      write: {
        summary: 'Generate random bytes',
        ...answers.randomBytes,
        input: randomInput,
        handle: ({ input }) => randomBytes(input),
      },
    }),
    resource('/tools/random/:urlbytes', {
      help,
      passesReadOnly: true,
      write: {
        summary: 'Generate this many random bytes, or 32 from a named source',
        ...answers.randomBytes,
        input: randomInput,
        handle: ({ input, params }) =>
          randomBytes(
            isCount(params.urlbytes)
              ? { ...input, bytes: Number(params.urlbytes) }
              : { ...input, source: params.urlbytes },
          ),
      },
    }),
    resource('/tools/random/:source/:urlbytes', {
      help,
      passesReadOnly: true,
      write: {
        summary: 'Generate this many random bytes from a named source',
        ...answers.randomBytes,
        input: randomInput,
        handle: ({ input, params }) => {
          if (!isCount(params.urlbytes))
            throw refuse(
              'invalid',
              `error parsing url-set byte count: strconv.Atoi: parsing ${quoted(params.urlbytes)}: invalid syntax`,
            )
          return randomBytes({ ...input, source: params.source, bytes: Number(params.urlbytes) })
        },
      },
    }),
    resource('/tools/hash', {
      help: 'A digest.',
      passesReadOnly: true,
      write: { ...digest, handle: ({ input }) => hashed(input) },
    }),
    resource('/tools/hash/:urlalgorithm', {
      help: 'A digest.',
      passesReadOnly: true,
      write: {
        ...digest,
        handle: ({ input, params }) => hashed({ ...input, algorithm: params.urlalgorithm }),
      },
    }),
  ]
}

const isCount = (text: string) => /^\d{1,9}$/.test(text)

function hashed({ input, format, algorithm }: z.output<typeof hashInput>): Reply {
  if (!isBase64(input)) throw refuse('invalid', 'unable to decode input as base64: illegal base64 data')
  const name = algorithms.get(algorithm)
  if (name === undefined) throw refuse('invalid', `unsupported algorithm ${algorithm}`)
  return {
    data: { sum: encoded(createHash(name).update(Buffer.from(input, 'base64')).digest(), format, format) },
  }
}

function encoded(bytes: Buffer, format: string, shown: string): string {
  if (format !== 'hex' && format !== 'base64')
    throw refuse('invalid', `unsupported encoding format ${shown}; must be "hex" or "base64"`)
  return bytes.toString(format)
}
