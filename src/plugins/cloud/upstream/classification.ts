import { fail, refuse, type ServiceError } from '../../../errors.ts'
import { hasPermissions, missingPermissions, ownershipAdvice } from './permissions.ts'
import { assertionCodes } from './sign-in-refusals.ts'
import {
  noMetadata,
  refusedIdentity,
  silentMetadata,
  type UpstreamError,
  type UpstreamOperation,
  type UpstreamService,
} from './upstream-error.ts'

/** What an error means for the step in which it occurred. */
export type ErrorClass = {
  readonly kind:
    | 'retry' // an object is not replicated yet; a retry will succeed
    | 'done' // the requested state exists already
    | 'gone' // an object that the request names does not exist
    | 'denied' // a permission is missing
    | 'limit' // a quota, or the number of passwords, is reached
    | 'policy' // a policy of the tenant or a lock on the object forbids it
    | 'credential' // the root credential is not accepted
    | 'throttled' // too many requests
    | 'refused' // the service does not accept the request, which says what a role or the configuration says
    | 'final' // anything else
  readonly permission?: string | undefined
  readonly advice?: string | undefined
}

/**
 * Every condition that is set must hold. None looks at the text of an error, which is prose: where status and code
 * do not tell, the call looks at the object itself and adds a code of ours.
 */
type Row = {
  kind: ErrorClass['kind']
  steps?: readonly UpstreamOperation[]
  service?: UpstreamService
  status?: number
  code?: string
  /** Whether the token has the permissions that the call needs. */
  isPermitted?: true
  /** What it was if no retry has succeeded. */
  afterwards?: 'refused' | 'denied'
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
 * The secret, client or tenant is not accepted.
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
/** Our code for a group that is synchronized from on-premises. */
export const onPremisesGroup = 'on_premises'
/** Our code for a role-assignable group. */
export const roleAssignableGroup = 'role_assignable'
export const dynamicGroupAdvice =
  'a rule decides who is a member of this group: use a group with assigned membership'
export const onPremisesGroupAdvice =
  'this group is synchronized from on-premises and can only be changed there: use a group that was made in the cloud'

const lifetimeAdvice =
  "the tenant limits how long secrets live: lower max_ttl or explicit_max_ttl of the role (of a static role, rotation_period; of a root secret, root_password_ttl), or the mount option 'secret_lifetime'"

/** First, because their texts resemble those of other errors. */
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
  {
    kind: 'policy',
    code: 'ServiceManagementReferenceRequired',
    steps: ['createApplication'],
    advice:
      "the tenant requires a service management reference (a GUID) on each application: set the mount option 'service_management_reference'",
  },
  { kind: 'policy', service: 'directory', code: dynamicGroup, advice: dynamicGroupAdvice },
  { kind: 'policy', service: 'directory', code: onPremisesGroup, advice: onPremisesGroupAdvice },
]

const lookups = [
  'getApplication',
  'getApplicationKeys',
  'getServicePrincipal',
  'findServicePrincipal',
  'findResource',
  'getGroup',
] as const

/** Our code for an application without room for another trust. */
export const tooManyTrusts = 'too_many_trusts'
export const mostTrusts = 20
/** The codes for an application without room for another password. */
export const tooManyPasswords = ['Directory_ResourceSizeExceeded', 'TooManyAppPasswords'] as const

/**
 * The first matching row decides.
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
  ...tooManyPasswords.map((code): Row => ({ kind: 'limit', steps: passwordSteps, code })),
  {
    kind: 'limit',
    steps: ['putFederatedCredential'],
    code: tooManyTrusts,
    advice: `an application has at most ${mostTrusts} federated credentials: remove one`,
  },
  {
    kind: 'policy',
    steps: ['putFederatedCredential'],
    status: 409,
    code: 'Request_MultipleObjectsWithSameKeyValue',
    advice: 'another federated credential of the application has this issuer and subject: remove it',
  },

  { kind: 'done', steps: ['deleteRoleAssignment'], status: 404 },

  { kind: 'retry', service: 'directory', status: 409, code: 'Directory_ConcurrencyViolation' },
  { kind: 'retry', steps: replicationSteps, status: 404 },
  // the name belongs to a principal that is not visible yet, or not deleted everywhere yet
  { kind: 'retry', steps: ['createServicePrincipal'], status: 409 },
  // the request names nothing but the application, which was made a moment ago
  { kind: 'retry', steps: ['createServicePrincipal'], status: 400, code: 'NoBackingApplicationObject' },
  {
    kind: 'retry',
    steps: ['createServicePrincipal'],
    status: 400,
    code: 'Request_BadRequest',
    afterwards: 'refused',
  },
  { kind: 'retry', steps: ['createServicePrincipal'], status: 403, isPermitted: true, afterwards: 'denied' },
  { kind: 'retry', steps: ['putRoleAssignment'], code: 'PrincipalNotFound' },
  { kind: 'retry', steps: ['addGroupMember', 'assignAppRole'], status: 404 },

  { kind: 'gone', service: 'directory', status: 404 },
  // what the directory does not accept as an id names no object
  { kind: 'gone', service: 'directory', status: 400, steps: lookups },
  { kind: 'gone', service: 'resource-manager', status: 404 },
  { kind: 'gone', service: 'resource-manager', code: 'RoleDefinitionDoesNotExist' },
  { kind: 'gone', service: 'resource-manager', code: 'InvalidSubscriptionId' },
  // our code for an id that cannot be put into an address
  { kind: 'gone', service: 'resource-manager', code: 'InvalidResourceId' },

  { kind: 'denied', service: 'directory', status: 403 },
  { kind: 'denied', service: 'resource-manager', status: 403 },

  { kind: 'credential', service: 'login', status: 401 },
  { kind: 'refused', status: 400 },
  { kind: 'refused', status: 409 },
  { kind: 'refused', status: 422 },
]

/** A lost answer is always `final`: the caller looks first. `isOver`: there will be no retry. */
export function classify(
  error: UpstreamError,
  step: UpstreamOperation = error.operation,
  { isOver = false } = {},
): ErrorClass {
  if (error.lost) return { kind: 'final' }
  const found = rows.find(
    (row) =>
      (row.steps === undefined || row.steps.includes(step)) &&
      (row.service === undefined || row.service === error.service) &&
      (row.status === undefined || row.status === error.status) &&
      (row.code === undefined || row.code === error.code || error.details.includes(row.code)) &&
      (row.isPermitted === undefined || hasPermissions(step, error.granted)),
  )
  const kind = (isOver ? found?.afterwards : undefined) ?? found?.kind ?? 'final'
  return kind === 'denied'
    ? { kind, permission: missingPermission(error, step), advice: ownershipAdvice(step) }
    : { kind, advice: found?.advice }
}

/** Resource Manager names the missing action, for people to read; the directory does not. */
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

const fixableKinds: ReadonlySet<ErrorClass['kind']> = new Set([
  'gone',
  'denied',
  'limit',
  'policy',
  'credential',
  'refused',
])
const serviceNames: Record<UpstreamService, string> = {
  login: 'login service',
  directory: 'directory',
  'resource-manager': 'resource manager',
  metadata: 'metadata service',
}
const throttlePauseSeconds = 10

/**
 * 400 if a change of the configuration, the role or the rights upstream can fix it, otherwise 502, with
 * `Retry-After` after throttling. `text` precedes the cause. docs/contract/cloud.md#service-principals
 */
export function callerError(error: UpstreamError, text = ''): ServiceError {
  const { kind, permission, advice } = classify(error, error.operation, { isOver: true })
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
