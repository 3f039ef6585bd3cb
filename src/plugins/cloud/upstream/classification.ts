import { fail, refuse, type ServiceError } from '../../../errors.ts'
import { missingPermissions, ownershipAdvice } from './permissions.ts'
import type { UpstreamError, UpstreamOperation, UpstreamService } from './upstream-error.ts'

/**
 * What an error means for the step it happened in: `retry`: not yet replicated, will pass; `done`: what was
 * asked for is so already; `gone`: what the request names does not exist there; `denied`: a right is missing;
 * `limit`: a quota or a number of passwords is reached; `policy`: a rule of the tenant or of the object
 * forbids it; `credential`: the root credential is not accepted; `throttled`: too many requests; `final`:
 * anything else.
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
  /** With `denied`: what to grant. */
  readonly permission?: string
  /** What the caller can do about it. */
  readonly advice?: string
}

/** One row: every part given must hold. `text`: lower case, anywhere in the message. */
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
] as const

/**
 * Texts by which the directory says "not everywhere yet", whatever the code.
 * docs/contract/cloud.md#service-principals; users go on finding more of them.
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

/** Secret, client or tenant are not (or not yet, or no longer) what the login service knows. */
const refusedCredentials = [
  'AADSTS7000215', // wrong secret
  'AADSTS7000222', // its end is past
  'AADSTS700016', // no such application in the tenant
  'AADSTS7000229', // the application has no service principal there
  'AADSTS7000112', // the application is disabled
  'AADSTS90002', // no such tenant
  'AADSTS900023', // no name of a tenant
  'missing_tenant_id_error',
  'unusable_tenant',
]

/** Codes of instance property locks; a service principal that has one takes no secret of its own. */
export const lockCodes = [
  'CannotUpdateLockedServicePrincipalProperty',
  'CannotUpdateLockedServicePrincipalPropertyWithEnforcementScope',
] as const

/** Our own word, beside the directory's, for a group whose members a rule decides. */
export const dynamicGroup = 'dynamic_membership'
/** And for one whose members may get roles of the directory. */
export const roleAssignableGroup = 'role_assignable'
export const dynamicGroupAdvice =
  'a rule decides who is a member of this group: use a group with assigned membership'
export const onPremisesGroupAdvice =
  'this group is synchronized from on-premises and can only be changed there: use a group that was made in the cloud'

const lifetimeAdvice =
  "the tenant limits how long secrets live: lower max_ttl or explicit_max_ttl of the role (of a root secret, root_password_ttl), or the mount option 'secret_lifetime'"

/**
 * What rules forbid, each with the way out. They come first: the texts beside some of these codes read like
 * others.
 */
const policyRows: readonly Row[] = [
  { kind: 'policy', code: 'CredentialInvalidLifetimeAsPerAppPolicy', advice: lifetimeAdvice },
  { kind: 'policy', code: 'CredentialLifetimeNotAllowedAsPerAppManagementPolicy', advice: lifetimeAdvice },
  {
    kind: 'policy',
    code: 'CredentialTypeNotAllowedAsPerAppPolicy',
    advice:
      'the tenant forbids secrets on applications: its administrator can exempt these applications by an app management policy',
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
 * The first row that fits decides. Status and code come first; texts are the fall-back.
 * docs/contract/cloud.md#service-principals, docs/contract/cloud.md#passwords-on-an-application,
 * docs/contract/cloud.md#revocation, simulators/directory/README.md.
 */
const rows: readonly Row[] = [
  ...refusedCredentials.map((code): Row => ({ kind: 'credential', service: 'login', code })),
  { kind: 'throttled', status: 429 },
  ...policyRows,

  { kind: 'limit', code: 'Directory_QuotaExceeded' },
  { kind: 'limit', code: 'RoleAssignmentLimitExceeded' },
  { kind: 'limit', steps: passwordSteps, text: 'size of the object has exceeded its limit' },
  { kind: 'limit', steps: passwordSteps, text: 'you can only add a maximum of' },
  { kind: 'limit', steps: passwordSteps, text: 'credential limit has been reached' },

  { kind: 'done', steps: ['addGroupMember'], status: 400, text: 'references already exist' },
  { kind: 'done', steps: passwordSteps, text: 'no password credential found with keyid' },
  { kind: 'done', steps: ['deleteRoleAssignment'], status: 404 },

  { kind: 'retry', service: 'directory', status: 409, code: 'Directory_ConcurrencyViolation' },
  { kind: 'retry', steps: replicationSteps, status: 404 },
  // the name is held by a principal that is not visible yet, or not gone yet
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
  { kind: 'retry', steps: ['addGroupMember'], status: 404 },

  { kind: 'gone', service: 'directory', status: 404 },
  { kind: 'gone', service: 'directory', status: 400, text: 'invalid object identifier' },
  { kind: 'gone', service: 'resource-manager', status: 404 },
  { kind: 'gone', service: 'resource-manager', code: 'RoleDefinitionDoesNotExist' },
  { kind: 'gone', service: 'resource-manager', code: 'InvalidSubscriptionId' },
  // our own word for what is not put into an address
  { kind: 'gone', service: 'resource-manager', code: 'InvalidResourceId' },

  { kind: 'denied', service: 'directory', status: 403 },
  { kind: 'denied', service: 'resource-manager', status: 403 },
]

/**
 * A lost answer is never an answer: it classifies as `final`, and `UpstreamError.lost` says to look first.
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

/** Resource Manager names the action it misses; the directory does not. */
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

const whatCallersMend: ReadonlySet<ErrorClass['kind']> = new Set([
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
}
const throttlePauseSeconds = 10

/**
 * The failure as the caller of the engine is told: 400 for what config, role or rights upstream can mend, 502
 * for the rest, with `Retry-After` when it was throttling. `text` stands before the cause.
 * docs/contract/cloud.md#service-principals.
 */
export function callerError(error: UpstreamError, text = ''): ServiceError {
  const { kind, permission, advice } = classify(error)
  const said = [text, error.message].filter((part) => part !== '').join(': ')
  const options = { cause: error, reason: `upstream_${kind}` }
  const missing = permission === undefined ? undefined : `missing permission: ${permission}`
  const told = [said, missing, advice].filter((part) => part !== undefined).join('; ')
  if (whatCallersMend.has(kind)) return refuse('invalid', told, options)
  if (kind !== 'throttled') return fail('upstream', said, options)
  const retryAfterSeconds =
    error.retryAfterMs === undefined
      ? throttlePauseSeconds
      : Math.max(1, Math.ceil(error.retryAfterMs / 1000))
  return fail('upstream', `${said}; throttled by the ${serviceNames[error.service]}`, {
    ...options,
    retryAfterSeconds,
  })
}
