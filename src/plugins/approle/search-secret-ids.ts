import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { areWithin, isNetwork } from '../../lib/net/cidr.ts'
import { intField, kvOrOwnTextField, stringField, timeField } from '../../lib/text/fields.ts'
import { excerpt } from '../../lib/text/go-text.ts'
import type { Role } from './role.ts'
import { parseMetadata, type SecretId, shownSecretId } from './secret-id.ts'
import type { SecretIdStore } from './secret-id-store.ts'

const mostFound = 1000

/** The conditions of a search; all that are given must hold. docs/contract/approle.md#search */
export const searchFields = z.object({
  metadata: kvOrOwnTextField
    .optional()
    .describe(
      'Texts by key, or a text as for a new secret id; `*` at the ends of a value stands for any text',
    )
    .meta({ examples: [{ team: 'shop', host: 'web-*' }] }),
  cidr: stringField.default('').describe('A network or an address that one of the `cidr_list` contains'),
  expires_before: timeField.optional().describe('Those that end before this time'),
  unused_since: timeField.optional().describe('Those whose `last_updated_time` is before this time'),
  after: stringField.default('').describe('`next` of the response to the call before'),
  limit: intField.default(100).describe(`Secret ids in the response, at most ${mostFound}`),
})

type SearchInput = z.output<typeof searchFields>

type Found = {
  readonly keys: readonly string[]
  readonly key_info: Readonly<Record<string, object>>
  readonly next: string
}

/** Throws `invalid` for a search without a condition, or with one that cannot be read. */
export function conditionOf(input: SearchInput): (secretId: SecretId) => boolean {
  const { cidr, expires_before, unused_since, limit } = input
  const metadata = Object.entries(
    (typeof input.metadata === 'string' ? parseMetadata(input.metadata) : input.metadata) ?? {},
  )
  if (metadata.length === 0 && cidr === '' && expires_before === undefined && unused_since === undefined)
    throw refuse('invalid', 'no condition given')
  if (cidr !== '' && !isNetwork(cidr))
    throw refuse('invalid', `failed to validate CIDR blocks: invalid CIDR address: ${excerpt(cidr)}`)
  if (limit < 1 || limit > mostFound) throw refuse('invalid', `limit must be between 1 and ${mostFound}`)
  const [endsBefore, unusedSince] = [expires_before, unused_since].map((time) => time && Date.parse(time))
  const patterns = metadata.map(([key, pattern]) => [key, matcherOf(pattern)] as const)
  return (secretId) =>
    patterns.every(
      ([key, matches]) => Object.hasOwn(secretId.metadata, key) && matches(secretId.metadata[key] ?? ''),
    ) &&
    (cidr === '' || areWithin([cidr], secretId.cidr_list)) &&
    (typeof endsBefore !== 'number' || (secretId.ends !== undefined && secretId.ends < endsBefore)) &&
    (typeof unusedSince !== 'number' || secretId.updated < unusedSince)
}

/** `*` at either end of a pattern stands for any text, and is a plain character elsewhere. */
function matcherOf(pattern: string): (text: string) => boolean {
  const isOpenAtStart = pattern.startsWith('*')
  const isOpenAtEnd = pattern.length > 1 && pattern.endsWith('*')
  const part = pattern.slice(isOpenAtStart ? 1 : 0, isOpenAtEnd ? -1 : undefined)
  if (isOpenAtStart && isOpenAtEnd) return (text) => text.includes(part)
  if (isOpenAtStart) return (text) => text.endsWith(part)
  return isOpenAtEnd ? (text) => text.startsWith(part) : (text) => text === part
}

/** One page of a search. docs/contract/approle.md#search */
export async function searchSecretIds(
  input: SearchInput,
  role: Role,
  { secretIds, mostBytes }: { readonly secretIds: SecretIdStore; readonly mostBytes: number },
): Promise<Found> {
  const matches = conditionOf(input)
  let left = mostBytes
  const { found, next } = await secretIds.search(role, {
    after: input.after,
    limit: input.limit,
    matches,
    fits: (secretId) => {
      const isFirst = left === mostBytes
      left -= Buffer.byteLength(JSON.stringify(shownSecretId(secretId)))
      return isFirst || left >= 0
    },
  })
  const byAccessor = found.toSorted((one, other) => (one.accessor < other.accessor ? -1 : 1))
  return {
    keys: byAccessor.map(({ accessor }) => accessor),
    key_info: Object.fromEntries(byAccessor.map((secretId) => [secretId.accessor, shownSecretId(secretId)])),
    next,
  }
}
