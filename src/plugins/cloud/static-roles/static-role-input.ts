import { z } from 'zod'
import { checkRecordSize } from '../../../core/records/stored-record.ts'
import { refuse } from '../../../errors.ts'
import {
  boolField,
  commaListField,
  durationField,
  kvField,
  signedDurationField,
  stringField,
  timeField,
} from '../../../lib/text/fields.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { checkRotationFields, checkWindow } from '../config/config.ts'
import { checkedScopes } from '../federation/requested-scope.ts'
import { dueAt, graceBound, graceOf, periodOf, type StaticRole } from './static-role-record.ts'

/** The fields of a static role. One that is absent keeps its value. docs/cloud-static-roles.md#fields */
export const staticRoleFields = z.object({
  application_object_id: stringField
    .optional()
    .describe('Object id of the application that has the password'),
  rotation_period: durationField
    .optional()
    .describe('Interval at which the password is rotated, at least an hour; 0: two years'),
  ttl: durationField.optional().describe('Another name of `rotation_period`'),
  rotation_schedule: stringField
    .optional()
    .describe('When to rotate the password: a cron expression of five fields, in UTC'),
  rotation_window: durationField
    .optional()
    .describe('How long after its scheduled time a rotation may start; 0: no limit'),
  disable_automated_rotation: boolField.optional().describe('Ignore the rotation schedule and period'),
  rotation_grace_period: signedDurationField
    .optional()
    .describe('How long a former password stays valid; 0: five minutes; -1: not at all'),
  seamless_rotation: boolField
    .optional()
    .describe('Whether a former password has a grace period; true by default'),
  metadata: kvField.optional().describe('Text by key, which reads of the password return'),
  allowed_scopes: commaListField
    .optional()
    .describe('Scopes for which access tokens are issued; none: all scopes'),
  defer_initial_creds: boolField.optional().describe('Make no password until the first rotation'),
  skip_import_rotation: boolField
    .optional()
    .describe('Another name of `defer_initial_creds`; for an imported password: keep it as it is'),
  secret_id: stringField.optional().describe('Key id of an existing password to import'),
  client_secret: stringField
    .optional()
    .meta({ description: 'Text of the imported password; never shown with the role', writeOnly: true }),
  expiration: timeField.optional().describe('When the imported password ends; the directory decides'),
})

export type StaticRoleInput = z.output<typeof staticRoleFields>

const newTerms = {
  application_object_id: '',
  rotation_period: 0,
  rotation_schedule: '',
  rotation_window: 0,
  disable_automated_rotation: false,
  rotation_grace_period: 0,
  seamless_rotation: true,
  metadata: null,
  allowed_scopes: [],
} satisfies Partial<StaticRole>

type Terms = Pick<StaticRole, keyof typeof newTerms>

/** What a write decides without the directory. */
export type StaticTerms = Terms & Pick<StaticRole, 'rotation_counts_from'>

const leastPeriod = 3600

/** Applies a request to a stored role. Throws the first refusal. Pure. docs/cloud-static-roles.md#fields */
export function changedStaticTerms(
  before: StaticRole | undefined,
  sent: StaticRoleInput,
  now: number,
): StaticTerms {
  const stored: StaticTerms = before ?? { ...newTerms, rotation_counts_from: now }
  const period = sent.rotation_period ?? sent.ttl
  const merged = {
    application_object_id: sent.application_object_id ?? stored.application_object_id,
    rotation_period: period ?? stored.rotation_period,
    rotation_schedule: sent.rotation_schedule ?? stored.rotation_schedule,
    rotation_window: sent.rotation_window ?? stored.rotation_window,
    disable_automated_rotation: sent.disable_automated_rotation ?? stored.disable_automated_rotation,
    rotation_grace_period: sent.rotation_grace_period ?? stored.rotation_grace_period,
    seamless_rotation: sent.seamless_rotation ?? stored.seamless_rotation,
    metadata: sent.metadata === undefined ? stored.metadata : sent.metadata && { ...sent.metadata },
    allowed_scopes:
      sent.allowed_scopes === undefined ? stored.allowed_scopes : checkedScopes(sent.allowed_scopes),
  }
  if (merged.application_object_id === '')
    throw refuse('invalid', "missing required field 'application_object_id'")
  checkRotationFields({ ...sent, rotation_period: period }, merged)
  checkWindow(merged)
  if (merged.rotation_period !== 0 && merged.rotation_period < leastPeriod)
    throw refuse('invalid', `rotation_period must be at least ${leastPeriod} seconds`)
  checkGrace(merged)
  checkRecordSize(merged.metadata)
  return { ...merged, rotation_counts_from: hasSamePlan(stored, merged) ? stored.rotation_counts_from : now }
}

function checkGrace(terms: Terms): void {
  const { rotation_grace_period: grace } = terms
  if (grace < -1) throw refuse('invalid', 'rotation_grace_period must be -1 or a positive duration')
  const bound = graceBound(terms)
  if (grace > bound) throw refuse('invalid', `rotation_grace_period cannot exceed ${bound} seconds`)
}

/** Whether rotations go on as before; otherwise the period starts over. */
const hasSamePlan = (before: Terms, after: Terms): boolean =>
  before.disable_automated_rotation === after.disable_automated_rotation &&
  before.rotation_schedule === after.rotation_schedule &&
  periodOf(before) === periodOf(after)

/** The role for a read. docs/cloud-static-roles.md#fields */
export function shownStaticRole(role: StaticRole, now: number): object {
  const next = dueAt(role, now)
  return {
    allowed_scopes: role.allowed_scopes,
    application_object_id: role.application_object_id,
    disable_automated_rotation: role.disable_automated_rotation,
    last_error: role.last_error,
    last_vault_rotation: role.last_rotation === undefined ? '' : formatTime(role.last_rotation),
    metadata: role.metadata,
    next_vault_rotation: Number.isFinite(next) ? formatTime(Math.max(next, role.rotation_counts_from)) : '',
    // without seamless rotation it has no effect, and is shown as written
    rotation_grace_period:
      role.seamless_rotation && role.rotation_grace_period === 0 ? graceOf(role) : role.rotation_grace_period,
    rotation_period: periodOf(role),
    rotation_schedule: role.rotation_schedule,
    rotation_window: role.rotation_window,
    seamless_rotation: role.seamless_rotation,
    ttl: periodOf(role),
  }
}
