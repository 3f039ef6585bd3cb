import { Buffer } from 'node:buffer'

/** The texts under which a secret could appear somewhere, each with the name of its form. */
function formsOf(secret: string): [form: string, text: string][] {
  const bytes = Buffer.from(secret)
  const base64 = [0, 1, 2].map((offset) => base64Within(bytes, offset))
  return [
    ['plain', secret],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
    ['URL', encodeURIComponent(secret)],
    ['form', new URLSearchParams([['', secret]]).toString().slice(1)],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
    ...base64.flatMap((text): [string, string][] => [
      ['base64', text],
      ['base64url', text.replaceAll('+', '-').replaceAll('/', '_')],
    ]),
  ]
}

/** What every base64 text contains that has these bytes at a position of this remainder by three. */
function base64Within(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const mixedAtEnd = (offset + bytes.length) % 3 === 0 ? 0 : 1
  return text.slice(Math.ceil((offset * 8) / 6), text.length - mixedAtEnd)
}

/** A place that must not show secrets. Its text is its bytes in Latin 1. */
export type Place = { readonly name: string; readonly text: string }

export const placeOf = (name: string, content: string | Uint8Array): Place => ({
  name,
  text:
    typeof content === 'string'
      ? Buffer.from(content).toString('latin1')
      : Buffer.from(content).toString('latin1'),
})

/** Three bytes from the middle of a text, where texts of one kind differ. */
const windowBytes = 3
const windowAt = (text: string): number => Math.max(0, (text.length - windowBytes) >> 1)
const windowOf = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)

/** Each sighting of a secret: its name, its form and the place. */
export function sightings(secrets: ReadonlyMap<string, string>, places: readonly Place[]): string[] {
  const forms = [...secrets].flatMap(([name, secret]) =>
    // most forms of a plain token are the same text; it keeps the last name
    [...new Map(formsOf(secret).map(([form, text]) => [text, form]))].map(([text, form]) => ({
      name,
      form,
      text: Buffer.from(text).toString('latin1'),
    })),
  )
  // all are looked for in one pass, by their windows: a pass for each takes seconds
  const byWindow = Map.groupBy(forms, ({ text }) => windowOf(Buffer.from(text, 'latin1'), windowAt(text)))
  const isWindow = new Uint8Array(1 << (8 * windowBytes))
  for (const window of byWindow.keys()) isWindow[window] = 1
  const seen = new Set<string>()
  for (const place of places) {
    const bytes = Buffer.from(place.text, 'latin1')
    for (let at = 0; at < bytes.length; at++) {
      const window = windowOf(bytes, at)
      if (isWindow[window] === 0) continue
      for (const { name, form, text } of byWindow.get(window) ?? [])
        if (place.text.startsWith(text, at - windowAt(text))) seen.add(`${name} in ${place.name} (${form})`)
    }
  }
  return [...seen]
}

const marker = 'CanaryBird'
const digits = 5
const bytesAfter = digits + 1

/** A text that nothing else contains, found in any form and case. `number` is what `canariesIn` returns. */
export const canary = (number: number): string => `${marker}${String(number).padStart(digits, '0')}x`

/** The numbers of the canaries in a place, in any form. */
export function canariesIn({ text }: Place): number[] {
  const found = new Set<number>()
  const note = (plain: string) => {
    const [, number] = new RegExp(`${marker}(\\d{${digits}})x`, 'i').exec(plain) ?? []
    if (number !== undefined) found.add(Number(number))
  }
  for (const [whole] of text.matchAll(new RegExp(`${marker}\\d{${digits}}x`, 'gi'))) note(whole)
  const hex = Buffer.from(marker).toString('hex')
  for (const [whole] of text.matchAll(new RegExp(`${hex}[0-9a-f]{${2 * bytesAfter}}`, 'gi')))
    note(Buffer.from(whole, 'hex').toString('latin1'))
  for (const spelling of [marker, marker.toLowerCase()])
    for (const offset of [0, 1, 2]) {
      const inner = base64Within(Buffer.from(spelling), offset)
      // decoded as if zeros were before the marker
      const before = Buffer.concat([Buffer.alloc(offset), Buffer.from(spelling)]).toString('base64')
      const head = before.slice(0, Math.ceil((offset * 8) / 6))
      for (const [whole] of text.matchAll(
        new RegExp(
          `${inner}[\\w+/-]{${Math.ceil((bytesAfter * 8) / 6)},${Math.ceil((bytesAfter * 8) / 6) + 1}}`,
          'g',
        ),
      ))
        note(Buffer.from(head + whole, 'base64').toString('latin1'))
    }
  return [...found]
}
