import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { keyedHash } from '../../core/records/keyed-hash.ts'
import {
  applyOldNames,
  boundCidrs,
  checkTokenFields,
  oldTokenFields,
  shownTokenFields,
  tokenFields,
  wholeTokenFields,
} from '../../core/tokens/store/token-fields.ts'
import { refuse } from '../../errors.ts'
import type { Random } from '../../lib/system/random.ts'
import {
  boolField,
  commaListField,
  convertFields,
  durationField,
  intField,
  stringField,
} from '../../lib/text/fields.ts'
import { goDuration } from '../../lib/text/go-duration.ts'
import { checkBlocks } from './cidr-blocks.ts'

const { policies, period } = oldTokenFields

/** docs/contract/approle.md#roles. A field that a write omits keeps its value. Durations are whole seconds. */
export const roleFields = z.object({
  bind_secret_id: boolField.optional().describe('Whether a login needs a secret id'),
  secret_id_bound_cidrs: commaListField
    .optional()
    .describe('Networks that may log in')
    .meta({ examples: [['10.0.0.0/8']] }),
  bound_cidr_list: commaListField
    .optional()
    .meta({ description: 'Use `secret_id_bound_cidrs`', deprecated: true }),
  secret_id_num_uses: intField.optional().describe('Logins of a new secret id; 0 is unlimited'),
  secret_id_ttl: durationField.optional().describe('Lifetime of a new secret id; 0 is unlimited'),
  role_id: stringField.optional().describe('Names the role in a login; a UUID unless a write sets it'),
  local_secret_ids: boolField.optional().describe('Kept and shown; only in the write that creates the role'),
  ...tokenFields,
  token_bound_cidrs: tokenFields.token_bound_cidrs.describe('Addresses that may use the token'),
  policies,
  period,
})

/** A write of a role. */
export type RoleInput = z.output<typeof roleFields>

/** A role as stored. */
export type RoleRecord = Omit<RoleInput, 'bound_cidr_list' | 'role_id'> & {
  readonly role_id: string
  /** Another role of the same name has another one, so it has other secret ids. */
  readonly uuid: string
  /** The key of the hashes of its secret ids, in base64. */
  readonly secret_id_key: string
}

/** A role, parsed once for many logins. */
export type Role = {
  readonly name: string
  readonly record: RoleRecord
  /** The hash that a secret id of this role is stored under. */
  hashOf(secretId: string): string
}

const keyBytes = 32
const storedParts = z.looseObject({
  role_id: z.string().min(1),
  uuid: z.string().min(1),
  secret_id_key: z.base64().length(44),
})

/** Parses a stored record. */
export function readRole(name: string, stored: unknown): Role {
  const { role_id, uuid, secret_id_key, ...fields } = storedParts.parse(stored)
  const { bound_cidr_list: _, ...settings } = convertFields(roleFields, fields).values
  const hmac = keyedHash(Buffer.from(secret_id_key, 'base64'))
  return {
    name,
    record: { ...settings, role_id, uuid, secret_id_key },
    hashOf: (secretId) => hmac(secretId, 'base64url'),
  }
}

/** The parts of a new role that no write sets. */
export const newRole = (random: Random): RoleRecord => ({
  role_id: random.uuid(),
  uuid: random.uuid(),
  secret_id_key: Buffer.from(random.bytes(keyBytes)).toString('base64'),
})

/** The name of a role, which has one spelling. docs/contract/approle.md#roles */
export const roleName = ({ role_name }: { role_name: string }): string => role_name.toLowerCase()

/** A path below the mount with its role in lower case. */
export const canonicalRolePath = (below: string): string =>
  below.replace(/^role\/[^/]+/, (start) => start.toLowerCase())

/** The greatest lease time of the role's mount, in seconds. */
export type RoleBounds = { readonly mountMaxTtl: number }

const maxIdBytes = 4096

/**
 * Merges a write into a role and checks the result as a whole, in the order of
 * docs/contract/approle.md#what-a-write-refuses. Throws the first refusal. Pure: it does not change its
 * arguments.
 */
export function changedRole(
  before: RoleRecord,
  sent: RoleInput,
  { mountMaxTtl, isNew }: RoleBounds & { readonly isNew: boolean },
): RoleRecord {
  const role = withTokenFields(before, sent)
  if (sent.local_secret_ids !== undefined && !isNew)
    throw refuse('invalid', 'local_secret_ids can only be modified during role creation')
  if (sent.role_id !== undefined) checkRoleId(sent.role_id)
  checkBlocks(role.secret_id_bound_cidrs ?? [], 'failed to validate CIDR blocks')
  if ((role.secret_id_num_uses ?? 0) < 0) throw refuse('invalid', 'secret_id_num_uses cannot be negative')
  const { period = 0 } = role
  if (period > mountMaxTtl) {
    const [shown, most] = [period, mountMaxTtl].map((seconds) => `"${goDuration(seconds)}"`)
    throw refuse('invalid', `period of ${shown} is greater than the backend's maximum lease TTL of ${most}`)
  }
  if (!isBound(role)) throw refuse('invalid', 'at least one constraint should be enabled on the role')
  return role
}

/** The fields of the write, with those about tokens checked and old names applied. */
function withTokenFields(before: RoleRecord, { bound_cidr_list, ...sent }: RoleInput): RoleRecord {
  const role: RoleRecord = { ...before, ...sent }
  if (bound_cidr_list !== undefined && sent.secret_id_bound_cidrs === undefined)
    role.secret_id_bound_cidrs = bound_cidr_list
  if (sent.token_type !== undefined) role.token_type = usefulType(sent.token_type)
  if (sent.token_bound_cidrs !== undefined) role.token_bound_cidrs = boundCidrs(sent.token_bound_cidrs)
  const settled = applyOldNames(role, sent)
  checkTokenFields(settled)
  return settled
}

const usefulType = (type: string): string => adjusted.get(type) ?? type
const adjusted: ReadonlyMap<string, string> = new Map([
  ['default-service', 'service'],
  ['default-batch', 'batch'],
])

function checkRoleId(roleId: string): void {
  if (roleId === '') throw refuse('invalid', 'invalid role_id supplied, or failed to generate a role_id')
  if (roleId.trim() !== roleId) throw refuse('invalid', 'role_id cannot begin or end with white space')
  if (Buffer.byteLength(roleId) > maxIdBytes)
    throw refuse('invalid', `role_id is longer than maximum of ${maxIdBytes} bytes`)
}

const isBound = ({ bind_secret_id = true, secret_id_bound_cidrs, token_bound_cidrs }: RoleRecord): boolean =>
  bind_secret_id || (secret_id_bound_cidrs ?? []).length > 0 || (token_bound_cidrs ?? []).length > 0

/** Throws `invalid` for a name that is too long for a role. */
export function checkRoleName(name: string): void {
  if (Buffer.byteLength(name) > maxIdBytes)
    throw refuse('invalid', `role_name is longer than maximum of ${maxIdBytes} bytes`)
}

/** The warnings of an accepted write. docs/contract/approle.md#what-a-write-refuses */
export function roleWarnings(role: RoleRecord, sent: RoleInput, { mountMaxTtl }: RoleBounds): string[] {
  const warnings: string[] = []
  const type = adjusted.get(sent.token_type ?? '')
  if (type !== undefined) warnings.push(`${sent.token_type} has no useful meaning; adjusting to ${type}`)
  if ((role.token_max_ttl ?? 0) > mountMaxTtl) {
    warnings.push(
      "token_max_ttl is greater than the backend mount's maximum TTL value; issued tokens' max TTL value will be truncated",
    )
  }
  return warnings
}

/** The role as fields of a write; only the write that creates it takes `local_secret_ids`. */
export function roleForm(role: Role): object {
  const { local_secret_ids: _, ...shown }: Partial<RoleRecord> = shownRole(role)
  return { ...shown, ...wholeTokenFields(role.record), role_id: role.record.role_id }
}

/** As a read shows it. */
export const shownRole = ({ record }: Role): object => ({
  bind_secret_id: record.bind_secret_id ?? true,
  local_secret_ids: record.local_secret_ids ?? false,
  secret_id_bound_cidrs: record.secret_id_bound_cidrs ?? null,
  secret_id_num_uses: record.secret_id_num_uses ?? 0,
  secret_id_ttl: record.secret_id_ttl ?? 0,
  ...shownTokenFields(record),
})
