import { refuse } from '../../errors.ts'
import { commaListField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { Keyset } from './keyset.ts'
import { type AllowedKeys, isThumbprint, thumbprintOf } from './thumbprint.ts'

const field = 'allowed_key_thumbprints'
const mostPins = 100

/** The field of a configuration. docs/contract/key-sources.md#pinned-keys */
export const pinsField = commaListField.describe(
  'RFC 7638 thumbprints (SHA-256) of the only keys whose signatures count; all keys of the source if empty. A read shows it only if it is set',
)

/** As a read shows it: absent unless set, so that clients that do not know the field notice nothing. */
export const shownPins = (pins: readonly string[]): { readonly [field]?: readonly string[] } =>
  pins.length === 0 ? {} : { [field]: pins }

/** The keys whose signatures count. */
export const allowedKeys = (pins: readonly string[]): AllowedKeys =>
  pins.length === 0 ? undefined : new Set(pins)

/** Throws the refusal of a write. */
export function checkPins(pins: readonly string[]): void {
  const wrong = pins.find((pin) => !isThumbprint(pin))
  if (wrong !== undefined)
    throw refuse(
      'invalid',
      `invalid ${field}: ${quoted(wrong)} is not a SHA-256 thumbprint (RFC 7638): 43 characters of base64url`,
    )
  if (pins.length > mostPins) throw refuse('invalid', `invalid ${field}: more than ${mostPins} thumbprints`)
}

/** Findings of the linter about pins that no current key has. Fetches keys that are not known yet. */
export async function pinFindings(pins: readonly string[], keyset: Pick<Keyset, 'sources' | 'refresh'>) {
  if (pins.length === 0) return []
  const thumbprints = () =>
    new Set(keyset.sources().flatMap(({ keys }) => keys.map(({ key }) => thumbprintOf(key))))
  if (thumbprints().size === 0) await keyset.refresh()
  const current = thumbprints()
  const dead = pins.filter((pin) => !current.has(pin))
  const text = `[${dead.join(' ')}] are thumbprints of no current key`
  return dead.length === 0 ? [] : [{ role: '', code: 'pin_without_key', field, text } as const]
}
