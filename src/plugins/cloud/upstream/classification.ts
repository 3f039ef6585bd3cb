import { fail, refuse, type ServiceError } from '../../../errors.ts'
import { missingPermissions, ownershipAdvice } from './permissions.ts'
import { assertionCodes } from './sign-in-refusals.ts'
import {
  noMetadata,
  refusedIdentity,
  silentMetadata,
  type UpstreamError,
  type UpstreamOperation,
  type UpstreamService,
} from './upstream-error.ts'

/**
 * What an error means for the step in which it occurred.
 * - `retry`: an object is not replicated yet; a retry will succeed
 * - `done`: the requested state exists already
 * - `gone`: an object that the request names does not exist
 * - `denied`: a permission is missing
 * - `limit`: a quota, or the number of passwords, is reached
 * - `policy`: a policy of the tenant or a lock on the object forbids it
 * - `credential`: the root credential is not accepted
 * - `throttled`: too many requests
 * - `final`: anything else
 */
export type ErrorClass = {
  readonly kind:
    | 'retry'
    | 'done'
    | 'gone'
    | 'denied'
    | 'limit'
    | 'policy'
    | 'credential'
    | 'throttled'
    | 'final'
  /** The permission to grant, for `denied`. */
  readonly permission?: string
  /** What the caller or operator can do. */
  readonly advice?: string
}

/**
 * A row of the table. Every condition that is set must hold. `text` is lower-case, anywhere in the message.
 */
type Row = {
  kind: ErrorClass['kind']
  steps?: readonly UpstreamOperation[]
  service?: UpstreamService
  status?: number
  code?: string
  text?: string
  advice?: string
}

const passwordSteps = [
  'addApplicationPassword',
  'addNewApplicationPassword',
  'addServicePrincipalPassword',
  'removeApplicationPassword',
  'removeServicePrincipalPassword',
] as const
const replicationSteps = [
  'createServicePrincipal',
  'addServicePrincipalPassword',
  'addNewApplicationPassword',
  'putFederatedCredential',
] as const

/**
 * Texts with which the directory reports that an object is not replicated yet, whatever the code. The list is
 * not complete: users keep finding more. docs/contract/cloud.md#service-principals
 */
const replicationTexts = [
  'local tenant',
  'does not reference a valid application object',
  'propagation',
  'please try again',
  'could not find',
  'not found',
  'does not exist',
  'reference-property',
]

/**
 * The login service does not accept the secret, client or tenant (yet, or any longer).
 * https://learn.microsoft.com/entra/identity-platform/reference-error-codes
 */
const refusedCredentials = [
  'AADSTS7000215', // wrong secret
  'AADSTS7000222', // expired secret
  'AADSTS700016', // no such application in the tenant
  'AADSTS7000229', // the application has no service principal in the tenant
  'AADSTS7000112', // the application is disabled
  'AADSTS90002', // no such tenant
  'AADSTS900023', // not the name of a tenant
  'missing_tenant_id_error',
  'unusable_tenant',
  ...assertionCodes,
  'token_file',
]

/** Codes for instance property locks. A locked service principal accepts no secret. */
export const lockCodes = [
  'CannotUpdateLockedServicePrincipalProperty',
  'CannotUpdateLockedServicePrincipalPropertyWithEnforcementScope',
] as const

/** Our code, next to the directory's, for a group with dynamic membership. */
export const dynamicGroup = 'dynamic_membership'
/** Our code for a role-assignable group. */
export const roleAssignableGroup = 'role_assignable'
export const dynamicGroupAdvice =
  'a rule decides who is a member of this group: use a group with assigned membership'
export const onPremisesGroupAdvice =
  'this group is synchronized from on-premises and can only be changed there: use a group that was made in the cloud'

const lifetimeAdvice =
  "the tenant limits how long secrets live: lower max_ttl or explicit_max_ttl of the role (of a static role, rotation_period; of a root secret, root_password_ttl), or the mount option 'secret_lifetime'"

/**
 * Policies and locks, each with advice. They come first, because their texts resemble those of other errors.
 */
const policyRows: readonly Row[] = [
  { kind: 'policy', code: 'CredentialInvalidLifetimeAsPerAppPolicy', advice: lifetimeAdvice },
  { kind: 'policy', code: 'CredentialLifetimeNotAllowedAsPerAppManagementPolicy', advice: lifetimeAdvice },
  {
    kind: 'policy',
    code: 'CredentialTypeNotAllowedAsPerAppPolicy',
    steps: passwordSteps,
    advice: 'this tenant forbids passwords: use credential_type certificate or federated',
  },
  {
    kind: 'policy',
    code: 'CredentialTypeNotAllowedAsPerAppPolicy',
    advice: 'this tenant forbids certificates: use credential_type password or federated',
  },
  ...lockCodes.map(
    (code): Row => ({
      kind: 'policy',
      code,
      advice:
        'an instance property lock protects the secrets of this service principal: turn servicePrincipalLockConfiguration of its application off',
    }),
  ),
  ...[
    { code: 'ServiceManagementReferenceRequired' },
    { status: 400, text: 'servicemanagementreference' },
  ].map(
    (row): Row => ({
      ...row,
      kind: 'policy',
      steps: ['createApplication'],
      advice:
        "the tenant requires a service management reference (a GUID) on each application: set the mount option 'service_management_reference'",
    }),
  ),
  { kind: 'policy', service: 'directory', code: dynamicGroup, advice: dynamicGroupAdvice },
  {
    kind: 'policy',
    steps: ['addGroupMember', 'removeGroupMember'],
    text: 'on-premises mastered',
    advice: onPremisesGroupAdvice,
  },
]

/**
 * The first matching row decides. Status and code are the primary signals, texts the fallback.
 * docs/contract/cloud.md#service-principals, docs/contract/cloud.md#passwords-on-an-application,
 * docs/contract/cloud.md#revocation, simulators/directory/README.md.
 */
const rows: readonly Row[] = [
  ...refusedCredentials.map((code): Row => ({ kind: 'credential', service: 'login', code })),
  { kind: 'credential', service: 'metadata', code: noMetadata },
  { kind: 'credential', service: 'metadata', code: silentMetadata },
  { kind: 'credential', service: 'metadata', code: refusedIdentity },
  { kind: 'throttled', status: 429 },
  ...policyRows,

  { kind: 'limit', code: 'Directory_QuotaExceeded' },
  { kind: 'limit', code: 'RoleAssignmentLimitExceeded' },
  { kind: 'limit', steps: passwordSteps, text: 'size of the object has exceeded its limit' },
  { kind: 'limit', steps: passwordSteps, text: 'you can only add a maximum of' },
  { kind: 'limit', steps: passwordSteps, text: 'credential limit has been reached' },

  { kind: 'limit', steps: ['putFederatedCredential'], status: 400, text: 'maximum number' },
  {
    ...{ kind: 'policy', steps: ['putFederatedCredential'], status: 409 },
    code: 'Request_MultipleObjectsWithSameKeyValue',
    advice: 'another federated credential of the application has this issuer and subject: remove it',
  },

  { kind: 'done', steps: ['addGroupMember'], status: 400, text: 'references already exist' },
  { kind: 'done', steps: ['assignAppRole'], status: 400, text: 'already exists' },
  { kind: 'done', steps: passwordSteps, text: 'no password credential found with keyid' },
  { kind: 'done', steps: ['removeKey'], text: 'no key credential found' },
  { kind: 'done', steps: ['removeKey'], text: 'no credentials found to be removed' },
  { kind: 'done', steps: ['deleteRoleAssignment'], status: 404 },

  { kind: 'retry', service: 'directory', status: 409, code: 'Directory_ConcurrencyViolation' },
  { kind: 'retry', steps: replicationSteps, status: 404 },
  // the name belongs to a principal that is not visible yet, or not deleted everywhere yet
  {
    kind: 'retry',
    steps: ['createServicePrincipal'],
    status: 409,
    code: 'Request_MultipleObjectsWithSameKeyValue',
  },
  { kind: 'retry', steps: ['createServicePrincipal'], text: 'is already in use' },
  { kind: 'retry', steps: ['createServicePrincipal'], status: 400, code: 'NoBackingApplicationObject' },
  ...replicationTexts.map((text): Row => ({ kind: 'retry', steps: replicationSteps, text })),
  { kind: 'retry', steps: ['putRoleAssignment'], code: 'PrincipalNotFound' },
  { kind: 'retry', steps: ['addGroupMember', 'assignAppRole'], status: 404 },

  { kind: 'gone', service: 'directory', status: 404 },
  { kind: 'gone', service: 'directory', status: 400, text: 'invalid object identifier' },
  { kind: 'gone', service: 'resource-manager', status: 404 },
  { kind: 'gone', service: 'resource-manager', code: 'RoleDefinitionDoesNotExist' },
  { kind: 'gone', service: 'resource-manager', code: 'InvalidSubscriptionId' },
  // our code for an id that cannot be put into an address
  { kind: 'gone', service: 'resource-manager', code: 'InvalidResourceId' },

  { kind: 'denied', service: 'directory', status: 403 },
  { kind: 'denied', service: 'resource-manager', status: 403 },
]

/**
 * Classifies an error. A lost answer is always `final`: `UpstreamError.lost` tells the caller to look first.
 */
export function classify(error: UpstreamError, step: UpstreamOperation = error.operation): ErrorClass {
  if (error.lost) return { kind: 'final' }
  const text = error.text.toLowerCase()
  const found = rows.find(
    (row) =>
      (row.steps === undefined || row.steps.includes(step)) &&
      (row.service === undefined || row.service === error.service) &&
      (row.status === undefined || row.status === error.status) &&
      (row.code === undefined || row.code === error.code || error.details.includes(row.code)) &&
      (row.text === undefined || (error.status < 500 && text.includes(row.text))),
  )
  if (found?.kind !== 'denied')
    return { kind: found?.kind ?? 'final', ...(found?.advice === undefined ? {} : { advice: found.advice }) }
  const permission = missingPermission(error, step)
  const advice = ownershipAdvice(step)
  return {
    kind: 'denied',
    ...(permission === undefined ? {} : { permission }),
    ...(advice === undefined ? {} : { advice }),
  }
}

/** Resource Manager names the missing action; the directory does not. */
function missingPermission(error: UpstreamError, step: UpstreamOperation): string | undefined {
  const named =
    error.service === 'resource-manager'
      ? /action '([A-Za-z0-9./*]{1,200})'/.exec(error.text)?.[1]
      : undefined
  return (
    named ??
    missingPermissions(step, {
      granted: error.granted,
      isRoleAssignable: error.details.includes(roleAssignableGroup),
    })
  )
}

/** The failures that a caller or operator can fix. */
const fixableKinds: ReadonlySet<ErrorClass['kind']> = new Set([
  'gone',
  'denied',
  'limit',
  'policy',
  'credential',
])
const serviceNames: Record<UpstreamService, string> = {
  login: 'login service',
  directory: 'directory',
  'resource-manager': 'resource manager',
  metadata: 'metadata service',
}
const throttlePauseSeconds = 10

/**
 * The error for the caller of the engine: 400 if a change of the configuration, the role or the rights
 * upstream can fix it, otherwise 502, with `Retry-After` after throttling. `text` precedes the cause.
 * docs/contract/cloud.md#service-principals.
 */
export function callerError(error: UpstreamError, text = ''): ServiceError {
  const { kind, permission, advice } = classify(error)
  const said = [text, error.message].filter((part) => part !== '').join(': ')
  const options = { cause: error, reason: `upstream_${kind}` }
  const missing = permission === undefined ? undefined : `missing permission: ${permission}`
  const { remedy } = error
  const explained = remedy === undefined ? undefined : `${said}: ${remedy.cause}`
  const fix = remedy === undefined ? undefined : `fix: ${remedy.fix}`
  const told = [explained ?? said, missing, advice, fix].filter((part) => part !== undefined).join('; ')
  if (fixableKinds.has(kind)) return refuse('invalid', told, options)
  if (kind !== 'throttled')
    return fail('upstream', fix === undefined ? said : `${explained}; ${fix}`, options)
  const retryAfterSeconds =
    error.retryAfterMs === undefined
      ? throttlePauseSeconds
      : Math.max(1, Math.ceil(error.retryAfterMs / 1000))
  return fail('upstream', `${said}; throttled by the ${serviceNames[error.service]}`, {
    ...options,
    retryAfterSeconds,
  })
}
