import { z } from 'zod'
import { checkRecordSize } from '../../../core/records/stored-record.ts'
import { refuse } from '../../../errors.ts'
import {
  boolField,
  commaListField,
  durationField,
  intField,
  kvField,
  stringField,
} from '../../../lib/text/fields.ts'
import { excerpt, quoted } from '../../../lib/text/go-text.ts'
import { isJsonObject, type JsonObject, JsonSyntaxError, parseLossless } from '../../../lib/text/json.ts'
import type { AppRole } from '../app-roles/app-role.ts'
import { changedIssued, shownIssued } from '../federation/federated-role.ts'
import type { FieldNames } from '../field-names.ts'
import { resourcePath } from '../upstream/resource-path.ts'
import { emptyRole, type GrantedRole, type JoinedGroup, type RoleRecord } from './role-record.ts'

const rolesField = stringField
  .optional()
  .describe('A string with a JSON array of objects with `role_name` or `role_id`, and `scope`')
const groupsField = stringField
  .optional()
  .describe('A string with a JSON array of objects with `group_name` or `object_id`')

const appRolesField = stringField
  .optional()
  .describe('A string with a JSON array of objects with `app_id`, and `role_name` or `role_id`')

const sharedFields = z.object({
  application_object_id: stringField
    .optional()
    .describe('Object id of an existing application that gets the credentials as passwords'),
  persist_app: boolField
    .optional()
    .describe('Create one application for the lifetime of the role that gets the credentials as passwords'),
  ttl: durationField.optional().describe('Lifetime of a credential; 0: that of the mount'),
  max_ttl: durationField
    .optional()
    .describe('Longest lifetime of a credential, renewals included; 0: that of the mount'),
  explicit_max_ttl: durationField
    .optional()
    .describe('Longest lifetime of a credential, which no renewal extends; 0: none'),
  permanently_delete: boolField.optional().describe('Delete applications upstream permanently'),
  sign_in_audience: stringField.optional().describe('Who may sign in to the created application'),
  tags: commaListField.optional().describe('Tags of the created application'),
  metadata: kvField.optional().describe('Notes about the role: text by key'),
  credential_type: stringField
    .optional()
    .describe(
      'What is issued: `password` (default), `certificate`, or `federated`: identity tokens and access tokens',
    )
    .meta({ examples: ['password', 'certificate', 'federated'] }),
  federated_client_id: stringField
    .optional()
    .describe('Client id of an application or managed identity that trusts the identity tokens of the role'),
  allowed_scopes: commaListField.optional().describe('Scopes of access tokens; empty: any'),
  pool: intField.optional().describe('How many credentials are made ahead, up to 50; 0: none'),
})

/** An absent field keeps its value. Durations are whole seconds. docs/contract/cloud.md#reading-a-role */
export const roleFields = {
  cloud: sharedFields.extend({
    cloud_roles: rolesField,
    cloud_groups: groupsField,
    cloud_app_roles: appRolesField,
  }),
  azure: sharedFields.extend({
    azure_roles: rolesField,
    azure_groups: groupsField,
    azure_app_roles: appRolesField,
  }),
}

export type RoleInput = z.output<typeof sharedFields> & {
  readonly [List in FieldNames['roles' | 'groups' | 'appRoles']]?: string | undefined
}

const maxTagBytes = 256
const maxTags = 200
const ownTags = 'gatehouse:'
const maxListed = 200
const maxAppRoles = 50
const longestMember = 2048
const mostPooled = 50

/**
 * Applies a request, except for the lists, which need lookups. Throws the first refusal.
 * docs/contract/cloud.md#writing-a-role, docs/contract/cloud.md#persisted-applications
 */
export function changedTerms(before: RoleRecord | undefined, sent: RoleInput, names: FieldNames): RoleRecord {
  const stored = before ?? emptyRole
  const { ttl = stored.ttl, max_ttl = stored.max_ttl, explicit_max_ttl = stored.explicit_max_ttl } = sent
  checkTtls({ ttl, max_ttl, explicit_max_ttl })
  if (sent.sign_in_audience !== undefined && !names.audiences.has(sent.sign_in_audience)) {
    throw refuse(
      'invalid',
      `Invalid value for sign_in_audience field. Valid values are: ${[...names.audiences.keys()].join(', ')}`,
    )
  }
  return {
    ...stored,
    ttl,
    max_ttl,
    explicit_max_ttl,
    permanently_delete: sent.permanently_delete ?? stored.permanently_delete,
    sign_in_audience: sent.sign_in_audience ?? stored.sign_in_audience,
    tags: sent.tags === undefined ? stored.tags : checkedTags(sent.tags),
    ...(sent.metadata === undefined ? {} : { metadata: checkedMetadata(sent.metadata) }),
    ...changedIssued(stored, sent),
    ...(sent.pool === undefined ? {} : { pool: checkedPool(sent.pool) }),
    ...target(stored, sent),
  }
}

function checkTtls({
  ttl,
  max_ttl,
  explicit_max_ttl,
}: Pick<RoleRecord, 'ttl' | 'max_ttl' | 'explicit_max_ttl'>): void {
  if (max_ttl !== 0 && ttl > max_ttl) throw refuse('invalid', 'ttl cannot be greater than max_ttl')
  if (explicit_max_ttl !== 0 && ttl > explicit_max_ttl)
    throw refuse('invalid', 'ttl cannot be greater than explicit_max_ttl')
  if (explicit_max_ttl !== 0 && max_ttl > explicit_max_ttl)
    throw refuse('invalid', 'max_ttl cannot be greater than explicit_max_ttl')
}

function checkedMetadata(sent: Readonly<Record<string, string>> | null): Record<string, string> | null {
  const metadata = sent && { ...sent }
  checkRecordSize(metadata)
  return metadata
}

function checkedPool(sent: number): number {
  if (sent < 0 || sent > mostPooled) throw refuse('invalid', `pool must be between 0 and ${mostPooled}`)
  return sent
}

/** docs/contract/cloud.md#tags */
function checkedTags(sent: readonly string[]): string[] {
  const tags = [...new Set(sent.filter((tag) => tag !== ''))].sort((a, b) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )
  if (tags.length > maxTags) throw refuse('invalid', `at most ${maxTags} tags are allowed`)
  for (const tag of tags) {
    if (Buffer.byteLength(tag) > maxTagBytes)
      throw refuse('invalid', 'individual tag size must be between 1 and 256 characters (inclusive)')
    if (tag.includes(' ')) throw refuse('invalid', 'whitespaces are not allowed in tags')
    if (tag.startsWith(ownTags)) throw refuse('invalid', `tags must not begin with '${ownTags}'`)
  }
  return tags
}

/** The application that gets the credentials. docs/contract/cloud.md#persisted-applications */
function target(
  stored: RoleRecord,
  sent: RoleInput,
): Pick<RoleRecord, 'application_object_id' | 'persist_app'> {
  const { application_object_id: id, persist_app = stored.persist_app } = sent
  if (stored.managed !== undefined) {
    if (!persist_app) throw refuse('invalid', 'persist_app cannot be disabled; delete the role instead')
    const owned = stored.managed.object_id
    if (id !== undefined && id !== '' && id.toLowerCase() !== owned.toLowerCase()) throw cannotBeBoth()
    return { application_object_id: owned, persist_app }
  }
  const application_object_id = id ?? stored.application_object_id
  if (persist_app && application_object_id !== '') throw cannotBeBoth()
  return { application_object_id, persist_app }
}

const cannotBeBoth = () => refuse('invalid', 'application_object_id cannot be set together with persist_app')

/** The lists of a request, or the stored ones if it has none. docs/contract/cloud.md#writing-a-role */
export function changedLists(
  role: RoleRecord,
  sent: RoleInput,
  names: FieldNames,
): Pick<RoleRecord, 'roles' | 'groups' | 'app_roles'> {
  const [roles, groups, appRoles] = [sent[names.roles], sent[names.groups], sent[names.appRoles]]
  const stored = role.app_roles === undefined ? {} : { app_roles: role.app_roles }
  return {
    roles: roles === undefined ? role.roles : parseList(roles, `${names.word} roles`, roleReader(names)),
    groups: groups === undefined ? role.groups : parseList(groups, `${names.word} groups`, readGroup),
    ...(appRoles === undefined
      ? stored
      : { app_roles: parseList(appRoles, `${names.word} app roles`, readAppRole, maxAppRoles) }),
  }
}

/** docs/contract/cloud.md#lists-of-roles-and-groups */
function parseList<Item>(
  text: string,
  what: string,
  read: (item: JsonObject, at: number) => Item,
  most = maxListed,
): Item[] | null {
  try {
    if (text === '') throw new JsonSyntaxError("'data' being decoded is nil")
    const list = parseLossless(text)
    if (list === null) return null
    if (!Array.isArray(list)) throw new JsonSyntaxError('expected an array')
    if (list.length > most) throw new JsonSyntaxError(`expected at most ${most} elements`)
    return list.map((item, at) => {
      if (!isJsonObject(item)) throw new JsonSyntaxError('expected an array of objects')
      return read(item, at)
    })
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw refuse('invalid', `error parsing ${what} '${excerpt(text)}': ${error.message}`)
    throw error
  }
}

const roleMembers = ['role_name', 'role_id', 'scope']

/** Refuses what would silently grant a right elsewhere. docs/contract/cloud.md#lists-of-roles-and-groups */
const roleReader =
  ({ roles }: FieldNames) =>
  (item: JsonObject, at: number): GrantedRole => {
    const wrong = (cause: string) => refuse('invalid', `${roles}[${at}]: ${cause}`)
    const seen = new Set<string>()
    for (const key of Object.keys(item)) {
      const member = key.toLowerCase()
      if (!roleMembers.includes(member)) throw wrong(`unknown member ${quoted(key)}`)
      if (seen.has(member)) throw wrong(`${quoted(member)} is given twice`)
      seen.add(member)
    }
    const role = { role_name: textOf(item, 'role_name'), role_id: textOf(item, 'role_id').trim() }
    const scope = textOf(item, 'scope').trim()
    if (!/^\/./.test(scope)) throw wrong('scope is required and begins with "/"')
    if (/\/\/|\.\.|%|^\/subscriptions\/?$/i.test(scope) || resourcePath(scope) === undefined)
      throw wrong(`invalid scope ${quoted(scope)}`)
    return { ...role, scope: scope.replace(/\/$/, '') }
  }

const readGroup = (item: JsonObject): JoinedGroup => ({
  group_name: textOf(item, 'group_name'),
  object_id: textOf(item, 'object_id'),
})

const readAppRole = (item: JsonObject): AppRole => ({
  app_id: textOf(item, 'app_id'),
  resource_id: '',
  role_name: textOf(item, 'role_name'),
  role_id: textOf(item, 'role_id'),
})

/** A member under its name in any letter case, as the reference reads it. */
function textOf(item: JsonObject, member: string): string {
  const [name, another] = Object.keys(item).filter((key) => key.toLowerCase() === member)
  if (another !== undefined) throw new JsonSyntaxError(`expected ${member} once`)
  const value = (name === undefined ? null : item[name]) ?? ''
  if (typeof value !== 'string') throw new JsonSyntaxError(`expected ${member} to be a string`)
  if (value.length > longestMember)
    throw new JsonSyntaxError(`expected ${member} to have at most ${longestMember} characters`)
  return value
}

/** The role for a read. docs/contract/cloud.md#reading-a-role */
/** The role as fields of a write. An application that belongs to the role comes and goes with it. */
export function roleForm(role: RoleRecord, names: FieldNames): object {
  const listText = (list: readonly object[] | null | undefined) => JSON.stringify(list ?? null)
  return {
    ...role,
    application_object_id: role.managed === undefined ? role.application_object_id : '',
    [names.roles]: listText(role.roles),
    [names.groups]: listText(role.groups),
    ...(role.app_roles !== undefined && { [names.appRoles]: listText(role.app_roles) }),
    metadata: role.metadata ?? {},
    credential_type: role.credential_type,
    federated_client_id: role.federated_client_id ?? '',
    allowed_scopes: role.allowed_scopes ?? [],
    pool: role.pool ?? 0,
    sign_in_audience: role.sign_in_audience || undefined,
  }
}

/** The fields that a write restores. Throws if it would leave something as it is now. */
export function restorableRole(form: Readonly<Record<string, unknown>>, now: RoleRecord | undefined): object {
  if (form['sign_in_audience'] === undefined && (now?.sign_in_audience ?? '') !== '')
    throw refuse('invalid', 'sign_in_audience cannot be unset: delete the role, then bring the version back')
  return now?.credential_type === undefined ? form : { credential_type: 'password', ...form }
}

export function shownRole(role: RoleRecord, names: FieldNames): object {
  return {
    application_object_id: role.application_object_id,
    [names.groups]: role.groups,
    [names.roles]: role.roles,
    ...(role.app_roles === undefined ? {} : { [names.appRoles]: role.app_roles }),
    explicit_max_ttl: role.explicit_max_ttl,
    max_ttl: role.max_ttl,
    permanently_delete: role.permanently_delete,
    persist_app: role.persist_app,
    sign_in_audience: role.sign_in_audience,
    tags: role.tags,
    ...(role.metadata === undefined ? {} : { metadata: role.metadata }),
    ttl: role.ttl,
    ...shownIssued(role),
    ...(role.pool ? { pool: role.pool } : {}),
  }
}
