import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { headerFault } from '../../lib/net/operator-header.ts'

const stored = z.record(z.string(), z.array(z.string()))

/** Values by the name of a response header of the web UI, as `canonicalHeader` writes it. */
export type UiHeaders = z.output<typeof stored>

/** Parses a stored record; throws if it is invalid. */
export const readUiHeaders = (record: unknown): UiHeaders => stored.parse(record)

/** The headers that protect the pages of the web UI. */
export const protectiveHeaders = [
  'content-security-policy',
  'x-content-type-options',
  'referrer-policy',
  'cross-origin-opener-policy',
  'permissions-policy',
] as const
export type ProtectiveHeader = (typeof protectiveHeaders)[number]

const most = { headers: 50, values: 50, nameLength: 128, bytes: 8 * 1024 }

/** What a page of the UI could not do without, or that several values of one header would break. */
const unusable = new Set(['content-encoding', 'etag', 'location', 'set-cookie', 'vary'])

/** Names are case-insensitive; read and listed as Vault does: `X-Frame-Options`. */
export const canonicalHeader = (name: string): string =>
  name.toLowerCase().replace(/(^|-)[a-z]/g, (first) => first.toUpperCase())

/** Sets one header. Throws `invalid` for what cannot be sent. Pure. */
export function withUiHeader(headers: UiHeaders, name: string, values: string[]): UiHeaders {
  if (name.toLowerCase().startsWith('x-vault-')) throw refuse('invalid', 'X-Vault headers cannot be set')
  if (unusable.has(name.toLowerCase())) throw refuse('invalid', `the server sets ${name} itself`)
  if (name.length > most.nameLength)
    throw refuse('invalid', `the name has more than ${most.nameLength} characters`)
  if (values.length > most.values) throw refuse('invalid', `values: more than ${most.values}`)
  const fault = values.map((value) => headerFault(name, value)).find((found) => found !== undefined)
  if (fault !== undefined) throw refuse('invalid', fault)
  const changed = { ...headers, [canonicalHeader(name)]: values }
  if (Object.keys(changed).length > most.headers) throw refuse('invalid', `more than ${most.headers} headers`)
  if (JSON.stringify(changed).length > most.bytes)
    throw refuse('invalid', `the headers have more than ${most.bytes} bytes`)
  return changed
}

/** As they are sent, names in lower case. Several values are one list (RFC 9110 §5.3). */
export const sentHeaders = (headers: UiHeaders = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, values]) => [name.toLowerCase(), values.join(', ')]))
