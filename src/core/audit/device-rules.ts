import { refuse } from '../../errors.ts'
import { parseBool } from '../../lib/text/go-numbers.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { HashingOptions } from './hashing.ts'

/** A device as an operator describes it. docs/contract/audit.md#devices */
export type DeviceDescription = {
  /** Ends in a slash. */
  readonly path: string
  readonly type: string
  readonly description: string
  readonly options: Readonly<Record<string, string>>
  readonly local: boolean
}

type Options = DeviceDescription['options']

/** The options that decide what entries look like. Throws `invalid`. */
export function entryOptions(options: Options): HashingOptions & { readonly skipsTest: boolean } {
  const { prefix = '', format = 'json' } = options
  if (prefix !== '') throw refuse('invalid', 'audit log prefixing is not allowed')
  if (format !== 'json') throw refuse('invalid', `unknown format type ${quoted(format)}`)
  return {
    logRaw: flag(options, 'log_raw', false),
    hmacAccessor: flag(options, 'hmac_accessor', true),
    elideListResponses: flag(options, 'elide_list_responses', false),
    skipsTest: flag(options, 'skip_test', false),
  }
}

function flag(options: Options, name: string, fallback: boolean): boolean {
  const text = options[name] ?? ''
  const value = text === '' ? fallback : parseBool(text)
  if (value !== undefined) return value
  throw refuse('invalid', `${name}: strconv.ParseBool: parsing ${quoted(text)}: invalid syntax`)
}

const lengths = { path: 256, description: 4096, options: 16_384 }

/** Throws `invalid` if a member is too long. */
export function checkSizes({ path, description, options }: DeviceDescription): void {
  const texts = { path, description, options: JSON.stringify(options) }
  for (const name of ['path', 'description', 'options'] as const) {
    if (texts[name].length > lengths[name])
      throw refuse('invalid', `${name}: longer than ${lengths[name]} characters`)
  }
}
