import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { textMap } from '../../lib/data/text-map.ts'
import { commaListField, durationField, intField, stringField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { formatTime } from '../../lib/text/time.ts'
import { checkBlocks, checkSubset } from './cidr-blocks.ts'
import type { RoleBounds, RoleRecord } from './role.ts'

/** The fields of a new secret id. docs/contract/approle.md#secret-ids */
export const secretIdFields = z.object({
  metadata: stringField
    .default('')
    .describe('Metadata of its logins: a JSON object of texts as text, or `key=value,key=value`'),
  cidr_list: commaListField
    .default([])
    .describe('Networks that may log in with it, within those of the role'),
  token_bound_cidrs: commaListField
    .default([])
    .describe('Networks that may use its tokens, within those of the role'),
  num_uses: intField.optional().describe('Number of logins; 0 is unlimited'),
  ttl: durationField.optional().describe('Lifetime; 0 is unlimited'),
})
export type SecretIdInput = z.output<typeof secretIdFields>

export const customSecretIdFields = secretIdFields.extend({
  secret_id: stringField.meta({ description: 'The secret id', writeOnly: true }),
})

const storedSecretId = z.object({
  accessor: z.string(),
  /** Logins left; 0: any number. */
  num_uses: z.number(),
  /** As requested, in seconds; 0: none. It may end earlier, by the maximum of the mount. */
  ttl: z.number(),
  /** Times in milliseconds since the epoch. */
  created: z.number(),
  updated: z.number(),
  /** From this time on it is not valid any more. */
  ends: z.number().optional(),
  metadata: textMap,
  cidr_list: z.array(z.string()),
  token_bound_cidrs: z.array(z.string()),
})

/** A secret id as stored; the secret itself is not. */
export type SecretId = z.output<typeof storedSecretId>

/** Parses a stored record. */
export const readSecretId = (stored: unknown): SecretId => storedSecretId.parse(stored)

const maxSecretIdBytes = 4096

/** Throws `invalid` for a text that is longer than any secret id; `what` begins the text. */
export function checkLength(secretId: string, what = 'failed to create HMAC of secret_id'): void {
  if (Buffer.byteLength(secretId) > maxSecretIdBytes)
    throw refuse('invalid', `${what}: value is longer than maximum of ${maxSecretIdBytes} bytes`, {
      reason: 'secret_id_unknown',
    })
}

/**
 * A secret id with these fields, checked in the order of docs/contract/approle.md#secret-ids. Throws the first
 * refusal.
 */
export function newSecretId(
  role: RoleRecord,
  { chosen = '', ...input }: SecretIdInput & { readonly chosen?: string | undefined },
  { accessor, now, mountMaxTtl }: { accessor: string; now: number } & RoleBounds,
): SecretId {
  const { cidr_list, token_bound_cidrs } = input
  if (role.bind_secret_id === false) throw refuse('invalid', 'bind_secret_id is not set on the role')
  // no login could send it
  if (chosen.trim() !== chosen) throw refuse('invalid', 'secret_id cannot begin or end with white space')
  checkBlocks(cidr_list, 'failed to validate CIDR blocks')
  checkSubset(cidr_list, role.secret_id_bound_cidrs ?? [])
  checkBlocks(token_bound_cidrs, 'failed to validate token CIDR blocks')
  checkSubset(token_bound_cidrs, role.token_bound_cidrs ?? [])
  const num_uses = usesOf(input, role)
  const ttl = ttlOf(input, role)
  const metadata = parseMetadata(input.metadata)
  return {
    accessor,
    num_uses,
    ttl,
    created: now,
    updated: now,
    ...(ttl > 0 && { ends: now + Math.min(ttl, mountMaxTtl) * 1000 }),
    metadata,
    cidr_list,
    token_bound_cidrs,
  }
}

const wholeBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Reads the metadata of a secret id: a JSON object of texts, `a=b,c=d`, or base64 of either. Throws `invalid`.
 * docs/contract/approle.md#secret-ids
 */
export function parseMetadata(sent: string): Record<string, string> {
  const trimmed = sent.trim()
  if (trimmed === '') return {}
  const text = wholeBase64.test(trimmed) ? Buffer.from(trimmed, 'base64').toString('utf8') : trimmed
  const metadata = fromJson(text) ?? fromPairs(text)
  const empty = Object.keys(metadata).find((key) => key !== '' && metadata[key] === '')
  if (empty !== undefined) throw unreadable(`invalid value for key ${quoted(empty)}`)
  return metadata
}

/** Undefined for a text that is not a JSON object of texts. */
function fromJson(text: string): Record<string, string> | undefined {
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
    ? Object.fromEntries(entries)
    : undefined
}

function fromPairs(text: string): Record<string, string> {
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
  return Object.fromEntries(entries)
}

const unreadable = (cause: string) => refuse('invalid', `failed to parse metadata: ${cause}`)

function usesOf({ num_uses }: SecretIdInput, { secret_id_num_uses: most = 0 }: RoleRecord): number {
  if (num_uses === undefined) return most
  if (num_uses < 0) throw refuse('invalid', 'num_uses cannot be negative')
  if (most > 0 && (num_uses === 0 || num_uses > most))
    throw refuse('invalid', "num_uses cannot be higher than the role's secret_id_num_uses")
  return num_uses
}

function ttlOf({ ttl }: SecretIdInput, { secret_id_ttl: most = 0 }: RoleRecord): number {
  if (ttl === undefined) return most
  if (most > 0 && (ttl === 0 || ttl > most))
    throw refuse('invalid', "ttl cannot be longer than the role's secret_id_ttl")
  return ttl
}

/** The lifetime that a new secret id really has, in seconds; 0: it does not end. */
export const grantedTtl = ({ created, ends }: SecretId): number =>
  ends === undefined ? 0 : Math.round((ends - created) / 1000)

const never = '0001-01-01T00:00:00Z'

/** As a lookup shows it. */
export const shownSecretId = (secretId: SecretId): object => ({
  secret_id_accessor: secretId.accessor,
  secret_id_num_uses: secretId.num_uses,
  secret_id_ttl: secretId.ttl,
  creation_time: formatTime(secretId.created),
  expiration_time: secretId.ends === undefined ? never : formatTime(secretId.ends),
  last_updated_time: formatTime(secretId.updated),
  metadata: secretId.metadata,
  cidr_list: secretId.cidr_list,
  token_bound_cidrs: secretId.token_bound_cidrs,
})
