import { z } from 'zod'
import { fail, refuse } from '../../../errors.ts'
import { boolField, durationField, stringField } from '../../../lib/fields.ts'
import { type ConfigRecord, defaultRootPasswordTtl, emptyConfig, laterFields } from './config-record.ts'
import { parseCron } from '../root-rotation/cron.ts'
import type { FieldNames } from '../field-names.ts'
import { type OperatorSettings, unknownEnvironment } from './effective-settings.ts'
import { isEnvironmentName } from '../upstream/index.ts'

/**
 * A field that is absent keeps its value. Durations are whole seconds. docs/contract/cloud.md#configuration
 */
export const configFields = z.object({
  subscription_id: stringField.optional().describe('Subscription in which role names are looked up'),
  tenant_id: stringField.optional().describe('Tenant the root credential belongs to'),
  environment: stringField.optional().describe('Name of the cloud; by default the public one'),
  client_id: stringField.optional().describe('Client id of the root credential'),
  client_secret: stringField
    .optional()
    .meta({ description: 'Secret of the root credential; never read back', writeOnly: true }),
  root_password_ttl: durationField
    .optional()
    .describe('Lifetime of a secret that rotate-root adds; 182 days in a new configuration'),
  identity_token_audience: stringField.optional().describe('Audience of identity tokens; not supported'),
  identity_token_ttl: durationField.optional().describe('Lifetime of identity tokens'),
  rotation_schedule: stringField
    .optional()
    .describe('When to rotate the root secret: a cron expression of five fields, in UTC'),
  rotation_window: durationField
    .optional()
    .describe('How long after its scheduled time a rotation may start; 0: no limit'),
  rotation_period: durationField
    .optional()
    .describe('Interval at which the root secret is rotated; 0: never'),
  rotation_policy: stringField.optional().describe('Stored and shown, without effect'),
  disable_automated_rotation: boolField.optional().describe('Ignore the rotation schedule and period'),
})

export type ConfigInput = z.output<typeof configFields>

/**
 * The configuration for a read: stored values only, without the secret. docs/contract/cloud.md#configuration
 */
export function shownConfig(stored: ConfigRecord | undefined, { type }: Pick<FieldNames, 'type'>): object {
  const config = stored ?? emptyConfig
  const { root_password_expiration_date: end, sent_fields: sent = [] } = config
  const unset =
    type === 'cloud'
      ? []
      : laterFields.filter((name) => !sent.includes(name) && config[name] === emptyConfig[name])
  const shown = {
    client_id: config.client_id,
    disable_automated_rotation: config.disable_automated_rotation,
    environment: config.environment,
    identity_token_audience: config.identity_token_audience,
    identity_token_ttl: config.identity_token_ttl,
    ...(end === undefined ? {} : { root_password_expiration_date: end }),
    root_password_ttl: config.root_password_ttl,
    rotation_period: config.rotation_period,
    rotation_policy: config.rotation_policy,
    rotation_schedule: config.rotation_schedule,
    rotation_window: config.rotation_window,
    subscription_id: config.subscription_id,
    tenant_id: config.tenant_id,
  }
  return Object.fromEntries(Object.entries(shown).filter(([name]) => !unset.some((one) => one === name)))
}

/**
 * Applies a request to the stored configuration. Checks in the order of
 * docs/contract/cloud.md#writing-a-configuration and throws the first refusal.
 */
export function changedConfig(
  before: ConfigRecord | undefined,
  sent: ConfigInput,
  { operator, now }: { readonly operator: OperatorSettings; readonly now: number },
): ConfigRecord {
  const kept = before ?? { ...emptyConfig, root_password_ttl: defaultRootPasswordTtl }
  const sentFields = laterFields.filter(
    (name) => sent[name] !== undefined || kept.sent_fields?.includes(name) === true,
  )
  const { rotation_counts_from: countsFrom = now, ...merged } = {
    ...kept,
    ...sent,
    ...(sentFields.length === 0 ? {} : { sent_fields: sentFields }),
  }
  checkIds(merged, operator)
  checkRotationFields(sent)
  if (merged.rotation_schedule !== '' && merged.rotation_period !== 0) throw bothRotations()
  checkAudience(merged)
  if (sent.environment !== undefined && !isEnvironmentName(sent.environment))
    throw fail('invalid', unknownEnvironment(sent.environment))
  checkRotationJob(merged)
  const changed = withoutStaleFields(before, merged)
  return hasSameRotation(kept, changed)
    ? { ...changed, rotation_counts_from: countsFrom }
    : { ...changed, rotation_counts_from: now }
}

/** docs/contract/cloud.md#writing-a-configuration */
function checkIds(
  config: Pick<ConfigRecord, 'subscription_id' | 'tenant_id'>,
  operator: OperatorSettings,
): void {
  if (config.subscription_id === '' && operator.subscriptionId === undefined)
    throw refuse('invalid', 'subscription_id is required')
  if (config.tenant_id === '' && operator.tenantId === undefined)
    throw refuse('invalid', 'tenant_id is required')
}

const bothRotations = () =>
  refuse(
    'invalid',
    'mutually exclusive fields rotation_schedule and rotation_period were both specified; only one of them can be provided',
  )

/** Checks the rotation fields of the request alone, without the stored ones. */
function checkRotationFields({
  rotation_schedule: schedule,
  rotation_period: period = 0,
  rotation_window: window = 0,
}: ConfigInput): void {
  const isScheduled = schedule !== undefined && schedule !== ''
  if (isScheduled && period !== 0) throw bothRotations()
  if (isScheduled) {
    const parsed = parseCron(schedule)
    if ('error' in parsed)
      throw refuse('invalid', `failed to parse provided rotation_schedule: ${parsed.error}`)
  }
  if (window !== 0 && period !== 0) throw refuse('invalid', 'rotation_window does not apply to period')
  if (window !== 0 && schedule === undefined)
    throw refuse('invalid', 'cannot use rotation_window without rotation_schedule')
}

/** Refuses identity tokens, which are not supported. docs/contract/cloud.md#writing-a-configuration */
function checkAudience({ identity_token_audience: audience, client_secret: secret }: ConfigInput): void {
  if (audience === undefined || audience === '') return
  if (secret !== '')
    throw refuse('invalid', "only one of 'client_secret' or 'identity_token_audience' can be set")
  throw refuse('invalid', 'plugin workload identity not supported')
}

const leastWindow = 3600

/** Checks the window of a rotation that is about to be scheduled. */
function checkRotationJob(config: Omit<ConfigRecord, 'rotation_counts_from'>): void {
  if (!wantsRotation(config) || config.rotation_schedule === '') return
  if (config.rotation_window !== 0 && config.rotation_window < leastWindow) {
    throw refuse(
      'invalid',
      `error registering rotation job: rotation_window must be ${leastWindow} seconds or more`,
    )
  }
}

/** Whether automatic rotation is enabled. */
export const wantsRotation = (
  config: Pick<ConfigRecord, 'disable_automated_rotation' | 'rotation_schedule' | 'rotation_period'>,
): boolean =>
  !config.disable_automated_rotation && (config.rotation_schedule !== '' || config.rotation_period !== 0)

/**
 * Whether automatic rotation goes on as before. If it changes, or is turned off and on again, the period
 * starts over. docs/contract/cloud.md#automatic-rotation
 */
const hasSameRotation = (before: ConfigRecord, after: ConfigRecord): boolean =>
  wantsRotation(before) === wantsRotation(after) &&
  before.rotation_schedule === after.rotation_schedule &&
  before.rotation_period === after.rotation_period

/** Drops the key id, the end and the pending successor of a secret if the root credential changes. */
function withoutStaleFields(before: ConfigRecord | undefined, merged: ConfigRecord): ConfigRecord {
  const isSame = (['client_secret', 'client_id', 'tenant_id', 'environment'] as const).every(
    (name) => before?.[name] === merged[name],
  )
  if (isSame) return merged
  const { pending: _dropped, root_password_expiration_date: _end, ...rest } = merged
  return { ...rest, client_secret_key_id: '' }
}
