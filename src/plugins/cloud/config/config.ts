import { z } from 'zod'
import { authTypes, isAuthType, isEnvironmentName } from '../../../config/cloud.ts'
import { fail, refuse } from '../../../errors.ts'
import { parseCron } from '../../../lib/text/cron.ts'
import { boolField, durationField, keptStringField, stringField } from '../../../lib/text/fields.ts'
import { type ClientCertificate, UnusableCertificate } from '../certificates/client-certificate.ts'
import type { FieldNames } from '../field-names.ts'
import {
  chooseCredential,
  chooseType,
  clientIdRequired,
  hostNotOffered,
  isHostMode,
  requires,
} from './choose-credential.ts'
import { type ConfigRecord, defaultRootPasswordTtl, emptyConfig, laterFields } from './config-record.ts'
import {
  hasSameCredential,
  type OperatorSettings,
  signInValues,
  unknownEnvironment,
} from './effective-settings.ts'

/** An absent field keeps its value. Durations are whole seconds. docs/contract/cloud.md#configuration */
export const configFields = z.object({
  subscription_id: stringField.optional().describe('Subscription in which role names are looked up'),
  tenant_id: stringField.optional().describe('Tenant the root credential belongs to'),
  environment: keptStringField.optional().describe('Name of the cloud; none: the public one'),
  client_id: stringField.optional().describe('Client id of the root credential'),
  client_secret: stringField
    .optional()
    .meta({ description: 'Secret of the root credential; never read back', writeOnly: true }),
  root_password_ttl: durationField
    .optional()
    .describe('Lifetime of a secret that rotate-root adds; 182 days in a new configuration'),
  identity_token_audience: stringField
    .optional()
    .describe('Audience of the identity tokens that the mount and its roles prove themselves with'),
  identity_token_ttl: durationField.optional().describe('Lifetime of identity tokens; 0: an hour'),
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
  auth_type: stringField
    .optional()
    .describe(`How the engine signs in: ${authTypes.join(', ')}; empty: by the first value that is set`),
  client_certificate: stringField
    .optional()
    .meta({
      description:
        'Certificate of the root credential and its key, as PEM or as PFX in base64; never read back',
      writeOnly: true,
    }),
  client_certificate_password: stringField
    .optional()
    .meta({ description: 'Password of client_certificate; not stored', writeOnly: true }),
  managed_identity_client_id: stringField
    .optional()
    .describe('Client id of the user-assigned managed identity that auth_type msi_wif uses'),
  root_application_object_id: stringField
    .optional()
    .describe('Object id of the root application, if the root may not look it up'),
})

export type ConfigInput = z.output<typeof configFields>

/** Stored values only, without the secret. docs/contract/cloud.md#configuration */
export function shownConfig(stored: ConfigRecord | undefined, { type }: Pick<FieldNames, 'type'>): object {
  const config = stored ?? emptyConfig
  const { certificate, sent_fields: sent = [] } = config
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
    root_password_expiration_date: config.root_password_expiration_date,
    root_password_ttl: config.root_password_ttl,
    rotation_period: config.rotation_period,
    rotation_policy: config.rotation_policy,
    rotation_schedule: config.rotation_schedule,
    rotation_window: config.rotation_window,
    subscription_id: config.subscription_id,
    tenant_id: config.tenant_id,
    auth_type: config.auth_type,
    client_certificate_expiration: certificate?.expiration,
    client_certificate_thumbprint: certificate?.thumbprint_sha256,
    managed_identity_client_id: config.managed_identity_client_id,
    root_application_object_id: config.root_application_object_id,
  }
  const isShown = ([name, value]: [string, unknown]) =>
    value !== undefined && !unset.some((one) => one === name)
  return Object.fromEntries(Object.entries(shown).filter(isShown))
}

/**
 * The stored values as fields of a write. A credential that a rotation has made is not among them: the next rotation
 * removes it upstream.
 */
export function configForm(config: ConfigRecord): object {
  const { certificate, client_secret_key_id: rotated } = config
  const text = certificate && `${certificate.certificate}\n${certificate.private_key}`
  return {
    ...config,
    auth_type: config.auth_type ?? '',
    managed_identity_client_id: config.managed_identity_client_id ?? '',
    root_application_object_id: config.root_application_object_id ?? '',
    environment: config.environment || undefined,
    client_secret: rotated === '' ? config.client_secret : undefined,
    client_certificate: certificate?.key_id === undefined ? (text ?? '') : undefined,
  }
}

/** Without a credential that a rotation has replaced since: upstream it is gone. Throws if a field cannot be unset. */
export function restorableConfig(
  form: Readonly<Record<string, unknown>>,
  now: ConfigRecord | undefined,
): object {
  if (form['environment'] === undefined && (now?.environment ?? '') !== '')
    throw refuse(
      'invalid',
      'environment cannot be unset: delete the configuration, then bring the version back',
    )
  // a new one has these values unless they are sent, and some clients tell the difference
  const isUsual = (name: string) =>
    laterFields.some(
      (later) => later === name && JSON.stringify(form[name]) === JSON.stringify(emptyConfig[later]),
    )
  if (now === undefined) return Object.fromEntries(Object.entries(form).filter(([name]) => !isUsual(name)))
  if (now.client_id !== form['client_id']) return form
  const { client_secret, client_certificate, ...rest } = form
  return {
    ...rest,
    ...(now.client_secret_key_id === '' && { client_secret }),
    ...(now.certificate?.key_id === undefined && { client_certificate }),
  }
}

export type ConfigContext = {
  readonly operator: OperatorSettings
  readonly now: number
  /** Whether the mount may sign in as the machine on which the server runs. */
  readonly isHostOffered: boolean
  /** The certificate in the request, or why it cannot be used. */
  readonly certificate?: ClientCertificate | UnusableCertificate | undefined
}

/**
 * Applies a request to the stored configuration, with the checks of docs/contract/cloud.md#writing-a-configuration
 * in order.
 */
export function changedConfig(
  before: ConfigRecord | undefined,
  sent: ConfigInput,
  context: ConfigContext,
): ConfigRecord {
  const { operator, now, certificate } = context
  const kept = before ?? { ...emptyConfig, root_password_ttl: defaultRootPasswordTtl }
  const sentFields = laterFields.filter(
    (name) => sent[name] !== undefined || kept.sent_fields?.includes(name) === true,
  )
  const { rotation_counts_from: countsFrom = now, ...merged } = {
    ...withSignIn(kept, sent, certificate),
    ...(sentFields.length === 0 ? {} : { sent_fields: sentFields }),
  }
  checkIds(merged, operator)
  checkRotationFields(sent, merged)
  checkCredentials(merged)
  if (sent.auth_type !== undefined) checkMode(sent.auth_type, context)
  if (certificate instanceof UnusableCertificate)
    throw refuse('invalid', `client_certificate: ${certificate.message}`)
  checkNeeds(merged, operator)
  if (sent.environment !== undefined && !isEnvironmentName(sent.environment))
    throw fail('invalid', unknownEnvironment(sent.environment))
  checkRotationJob(merged, operator)
  const changed = withoutStaleFields(before, merged, operator)
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

type RotationFields = Pick<ConfigRecord, 'rotation_schedule' | 'rotation_period' | 'rotation_window'>

/**
 * Checks the fields of a request, and that schedule and period exclude each other once it is merged into what is
 * stored.
 */
export function checkRotationFields(
  {
    rotation_schedule: schedule,
    rotation_period: period = 0,
    rotation_window: window = 0,
  }: { readonly [Name in keyof RotationFields]?: RotationFields[Name] | undefined },
  merged: RotationFields,
): void {
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
  if (merged.rotation_schedule !== '' && merged.rotation_period !== 0) throw bothRotations()
}

type Merged = Omit<ConfigRecord, 'rotation_counts_from'>

/** The stored fields with those of the request. An empty text clears a field that is shown only once it is set. */
function withSignIn(
  kept: ConfigRecord,
  { client_certificate, client_certificate_password: _password, ...sent }: ConfigInput,
  read: ConfigContext['certificate'],
): ConfigRecord {
  const { auth_type, managed_identity_client_id, root_application_object_id, ...plain } = sent
  const {
    auth_type: _type,
    managed_identity_client_id: _id,
    root_application_object_id: _object,
    ...rest
  } = kept
  const { certificate: held, ...others } = rest
  const certificate =
    client_certificate === undefined ? held : read instanceof UnusableCertificate ? undefined : read
  const texts = {
    auth_type: auth_type ?? kept.auth_type ?? '',
    managed_identity_client_id: managed_identity_client_id ?? kept.managed_identity_client_id ?? '',
    root_application_object_id: root_application_object_id ?? kept.root_application_object_id ?? '',
  }
  return {
    ...others,
    ...plain,
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(certificate === undefined ? {} : { certificate }),
  }
}

/** docs/contract/cloud.md#writing-a-configuration */
function checkCredentials({ identity_token_audience, client_secret, certificate }: Merged): void {
  const isAudienceSet = identity_token_audience !== ''
  if (certificate !== undefined && (client_secret !== '' || isAudienceSet))
    throw refuse(
      'invalid',
      "only one of 'client_secret', 'client_certificate' or 'identity_token_audience' can be set",
    )
  if (!isAudienceSet) return
  if (client_secret !== '')
    throw refuse('invalid', "only one of 'client_secret' or 'identity_token_audience' can be set")
}

function checkMode(type: string, { isHostOffered }: ConfigContext): void {
  if (type === '') return
  if (!isAuthType(type)) throw refuse('invalid', `unknown auth_type "${type.slice(0, 100)}"`)
  if (isHostMode(type) && !isHostOffered) throw refuse('invalid', hostNotOffered)
}

/** A stored mode has what it needs. docs/contract/cloud.md#sign-in */
function checkNeeds(merged: Merged, operator: OperatorSettings): void {
  if (merged.auth_type === undefined) return
  const chosen = chooseCredential({ ...signInValues(merged, operator, true), authType: merged.auth_type })
  if (!('refusal' in chosen)) return
  const isNamed = chosen.refusal !== clientIdRequired
  throw refuse('invalid', isNamed ? chosen.refusal : requires(merged.auth_type, 'client_id'))
}

const leastWindow = 3600

/** Checks the window of a rotation that is about to be scheduled. */
function checkRotationJob(config: Merged, operator: OperatorSettings): void {
  if (!wantsRotation(config)) return
  const type = chooseType(signInValues(config, operator, false))
  if (type !== undefined && type !== 'root_creds' && type !== 'certificate')
    throw refuse('invalid', 'error registering rotation job: no client secret is configured')
  checkWindow(config)
}

export function checkWindow(config: RotationFields & Pick<ConfigRecord, 'disable_automated_rotation'>): void {
  if (!wantsRotation(config) || config.rotation_schedule === '') return
  if (config.rotation_window !== 0 && config.rotation_window < leastWindow) {
    throw refuse(
      'invalid',
      `error registering rotation job: rotation_window must be ${leastWindow} seconds or more`,
    )
  }
}

export const wantsRotation = (
  config: Pick<ConfigRecord, 'disable_automated_rotation' | 'rotation_schedule' | 'rotation_period'>,
): boolean =>
  !config.disable_automated_rotation && (config.rotation_schedule !== '' || config.rotation_period !== 0)

/**
 * If automatic rotation changes, or is turned off and on, the period starts over.
 * docs/contract/cloud.md#automatic-rotation
 */
const hasSameRotation = (before: ConfigRecord, after: ConfigRecord): boolean =>
  wantsRotation(before) === wantsRotation(after) &&
  before.rotation_schedule === after.rotation_schedule &&
  before.rotation_period === after.rotation_period

/** Drops the key id, the end and the pending successor of a secret if the root credential changes. */
function withoutStaleFields(
  before: ConfigRecord | undefined,
  merged: ConfigRecord,
  operator: OperatorSettings,
): ConfigRecord {
  if (before !== undefined && hasSameCredential(before, merged, operator)) return merged
  const {
    pending: _pending,
    pending_certificate: _certificate,
    retiring_keys: _keys,
    root_password_expiration_date: _end,
    ...rest
  } = merged
  return { ...rest, client_secret_key_id: '' }
}
