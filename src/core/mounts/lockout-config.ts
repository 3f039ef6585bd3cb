import { refuse } from '../../errors.ts'
import { parseDuration } from '../../lib/text/go-duration.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { isJsonNumber, type JsonObject, type JsonValue, numberText } from '../../lib/text/json.ts'
import type { LockoutConfig } from './mount.ts'

const untuned: LockoutConfig = {
  user_lockout_threshold: 0,
  user_lockout_duration: 0,
  user_lockout_counter_reset_duration: 0,
  user_lockout_disable: false,
}

/** The map of a tune call, with texts that are not parsed yet. Throws if a value has the wrong type. */
export function decodeLockout(given: JsonObject) {
  return {
    threshold: textOf(given['lockout_threshold']),
    duration: textOf(given['lockout_duration']),
    reset: textOf(given['lockout_counter_reset_duration']),
    disable: switchOf(given['lockout_disable']),
  }
}

/** The configuration after a tune call: what it omits, or sends as an empty text, is kept. */
export function tunedLockout(
  before: LockoutConfig = untuned,
  sent: ReturnType<typeof decodeLockout>,
): LockoutConfig {
  return {
    user_lockout_threshold: thresholdOf(sent.threshold) ?? before.user_lockout_threshold,
    user_lockout_duration: secondsOf(sent.duration) ?? before.user_lockout_duration,
    user_lockout_counter_reset_duration: secondsOf(sent.reset) ?? before.user_lockout_counter_reset_duration,
    user_lockout_disable: sent.disable ?? before.user_lockout_disable,
  }
}

/** The map of a tune call that sets all of it. */
export const lockoutForm = (set: LockoutConfig = untuned): JsonObject => ({
  lockout_threshold: String(set.user_lockout_threshold),
  lockout_duration: String(set.user_lockout_duration),
  lockout_counter_reset_duration: String(set.user_lockout_counter_reset_duration),
  lockout_disable: set.user_lockout_disable,
})

const unconvertible = () => refuse('invalid', 'unable to convert given user lockout config information')

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (isJsonNumber(value)) return numberText(value)
  throw unconvertible()
}

function switchOf(value: JsonValue | undefined): boolean | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean') return value
  throw unconvertible()
}

function thresholdOf(text: string): number | undefined {
  if (text === '') return undefined
  const fault = !/^\d+$/.test(text)
    ? 'invalid syntax'
    : Number.isSafeInteger(Number(text))
      ? undefined
      : 'value out of range'
  if (fault === undefined) return Number(text)
  throw refuse(
    'invalid',
    `unable to parse user lockout threshold: strconv.ParseUint: parsing ${quoted(text.slice(0, 256))}: ${fault}`,
  )
}

function secondsOf(text: string): number | undefined {
  if (text === '') return undefined
  if (text === 'system') return 0
  const parsed = parseDuration(text, { signed: true })
  if ('error' in parsed) throw refuse('invalid', parsed.error)
  if (parsed.seconds < 0) throw refuse('invalid', 'lockout durations cannot be negative')
  return parsed.seconds
}
