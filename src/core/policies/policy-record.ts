import { z } from 'zod'
import { fail, refuse } from '../../errors.ts'
import { formatTime, parseTime, timeMilliseconds } from '../../lib/text/time.ts'

/** A policy as stored. Times are RFC 3339. */
const policyRecord = z.object({
  policy: z.string(),
  modified: z.string().exactOptional(),
  /** From 1, one more with each write. A record without it is older than versions are. */
  version: z.number().default(1),
  /** A write must name the version that it replaces. */
  cas_required: z.boolean().default(false),
  /** From then on the policy does not exist. */
  expiration: z
    .string()
    .refine((time) => 'time' in parseTime(time))
    .exactOptional(),
  /** The values of its templates may contain `/`, or `*` and `+`. */
  allow_slashes_in_identity_templates: z.literal(true).exactOptional(),
  allow_wildcards_in_identity_templates: z.literal(true).exactOptional(),
})
export type PolicyRecord = Readonly<z.output<typeof policyRecord>>

/** What a write says beside the text. Durations are seconds. */
export type PolicyTerms = {
  readonly ttl?: number | undefined
  readonly expiration?: string | undefined
  readonly cas?: number | undefined
  readonly cas_required?: boolean | undefined
  readonly allow_slashes_in_identity_templates?: boolean | undefined
  readonly allow_wildcards_in_identity_templates?: boolean | undefined
}

/** Parses a stored record. */
export function readPolicyRecord(name: string, stored: unknown): PolicyRecord | undefined {
  if (stored === undefined) return undefined
  const { data: record } = policyRecord.safeParse(stored)
  if (record === undefined) throw unreadablePolicy(name)
  return record
}

/** What each write sets anew. */
const ownFields: ReadonlySet<string> = new Set(Object.keys(policyRecord.shape))

/** The fields of a record that only other versions of the server know. */
export const otherFields = (stored: unknown): object =>
  Object.fromEntries(Object.entries(stored ?? {}).filter(([name]) => !ownFields.has(name)))

/** The record unless it has ended at `now`, in milliseconds since the epoch. */
export const livePolicy = (record: PolicyRecord | undefined, now: number): PolicyRecord | undefined =>
  record !== undefined && endOf(record) <= now ? undefined : record

/** When the policy ends, in milliseconds since the epoch; infinite for one without an end. */
export function endOf({ expiration }: PolicyRecord): number {
  const parsed = expiration === undefined ? undefined : parseTime(expiration)
  return parsed === undefined || 'error' in parsed ? Number.POSITIVE_INFINITY : timeMilliseconds(parsed.time)
}

/** The end that a write sets. Throws `invalid`. docs/contract/tokens-and-policies.md#policies */
export function expirationOf(
  name: string,
  { ttl, expiration }: PolicyTerms,
  now: number,
): string | undefined {
  if (ttl !== undefined && expiration !== undefined)
    throw refuse('invalid', "cannot supply both 'expiration' and 'ttl' for policies")
  const end = ttl === undefined ? expiration : formatTime(now + ttl * 1000)
  if (end === undefined) return undefined
  if (name === 'default') throw refuse('invalid', 'cannot set an expiration on the "default" policy')
  if (endOf({ policy: '', version: 1, cas_required: false, expiration: end }) <= now)
    throw refuse('invalid', 'refusing to update policy as expiration time has already elapsed')
  return end
}

/** Throws `invalid` if the write does not expect what is stored. */
export function checkExpected(
  { cas, cas_required = false }: PolicyTerms,
  stored: PolicyRecord | undefined,
): void {
  if (cas === undefined) {
    if (cas_required || stored?.cas_required === true)
      throw refuse('invalid', 'check-and-set parameter required for this call')
    return
  }
  if (cas === -1) {
    if (stored !== undefined) throw refuse('invalid', 'check-and-set parameter set to -1 on existing entry')
    return
  }
  const version = stored?.version ?? 0
  if (cas !== version)
    throw refuse('invalid', `check-and-set parameter ${cas} did not match the current version ${version}`)
}

export const unreadablePolicy = (name: string, cause?: Error) =>
  fail('internal', `policy ${JSON.stringify(name)} cannot be read`, { cause })
