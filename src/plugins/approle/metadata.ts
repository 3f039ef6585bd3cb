import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'

export type Metadata = Readonly<Record<string, string>>

const wholeBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Reads the metadata of a secret id: a JSON object of texts, `a=b,c=d`, or base64 of either. Throws `invalid`.
 * docs/contract/approle.md#secret-ids
 */
export function parseMetadata(sent: string): Metadata {
  const trimmed = sent.trim()
  if (trimmed === '') return {}
  const text = wholeBase64.test(trimmed) ? Buffer.from(trimmed, 'base64').toString('utf8') : trimmed
  const metadata = fromJson(text) ?? fromPairs(text)
  const empty = Object.keys(metadata).find((key) => key !== '' && metadata[key] === '')
  if (empty !== undefined) throw unreadable(`invalid value for key ${quoted(empty)}`)
  return metadata
}

/** Undefined for a text that is not a JSON object of texts. */
function fromJson(text: string): Metadata | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) return undefined
  const entries = Object.entries(value).map(([key, text]) => [key, text === null ? '' : text] as const)
  return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
    ? mapOf(entries)
    : undefined
}

function fromPairs(text: string): Metadata {
  const entries: [string, string][] = []
  for (const pair of text.split(',').map((part) => part.trim())) {
    if (pair === '') continue
    const [key = '', value, ...more] = pair.split('=').map((part) => part.trim())
    if (value === undefined || more.length > 0)
      throw unreadable('failed to parse the input: invalid <key,value> format')
    if (key === '' || value === '') {
      throw unreadable(
        `failed to parse the input: invalid <key,value> pair: key: ${quoted(key)} value: ${quoted(value)}`,
      )
    }
    entries.push([key, value])
  }
  return mapOf(entries)
}

/** Any key is safe. */
const mapOf = (entries: readonly (readonly [string, string])[]): Metadata => Object.fromEntries(entries)

const unreadable = (cause: string) => refuse('invalid', `failed to parse metadata: ${cause}`)
