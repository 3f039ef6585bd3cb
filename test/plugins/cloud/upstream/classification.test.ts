import { describe, expect, test } from 'vitest'
import {
  callerError,
  classify,
  UpstreamError,
  type UpstreamFailure,
  type UpstreamOperation,
} from '../../../../src/plugins/cloud/upstream/index.ts'

const failed = (failure: Partial<UpstreamFailure> & { operation: UpstreamOperation }) =>
  new UpstreamError({ service: 'directory', status: 400, code: '', text: '', ...failure })

// docs/contract/cloud.md#service-principals, #passwords-on-an-application and #revocation;
// simulators/directory/README.md
describe('classify', () => {
  test.each<{
    name: string
    error: Partial<UpstreamFailure> & { operation: UpstreamOperation }
    kind: string
  }>([
    {
      name: 'an application that is not replicated yet',
      error: { operation: 'createServicePrincipal', status: 404, code: 'Request_ResourceNotFound' },
      kind: 'retry',
    },
    {
      name: 'the same as a bad request',
      error: { operation: 'createServicePrincipal', code: 'Request_BadRequest' },
      kind: 'retry',
    },
    {
      name: 'the same in the details only',
      error: {
        operation: 'createServicePrincipal',
        code: 'Request_BadRequest',
        text: 'One or more errors.',
        details: ['NoBackingApplicationObject'],
      },
      kind: 'retry',
    },
    {
      name: 'the same as a refusal',
      error: {
        operation: 'createServicePrincipal',
        status: 403,
        code: 'Authorization_RequestDenied',
        granted: ['Application.ReadWrite.OwnedBy'],
      },
      kind: 'retry',
    },
    {
      name: 'a name still used by a deleted object',
      error: {
        operation: 'createServicePrincipal',
        status: 409,
        code: 'Request_MultipleObjectsWithSameKeyValue',
      },
      kind: 'retry',
    },
    {
      name: 'concurrent changes',
      error: {
        operation: 'addServicePrincipalPassword',
        status: 409,
        code: 'Directory_ConcurrencyViolation',
      },
      kind: 'retry',
    },
    {
      name: 'concurrent changes of a static application',
      error: { operation: 'addApplicationPassword', status: 409, code: 'Directory_ConcurrencyViolation' },
      kind: 'retry',
    },
    {
      name: 'a refusal of a call for which the token lacks the permission, whatever its text',
      error: {
        operation: 'createServicePrincipal',
        status: 403,
        code: 'Authorization_RequestDenied',
        text: 'not in the local tenant',
        granted: ['Group.Read.All'],
      },
      kind: 'denied',
    },
    {
      name: 'a bad request that names a new application only',
      error: { operation: 'createServicePrincipal', code: 'Request_BadRequest' },
      kind: 'retry',
    },
    {
      name: 'a principal that is not replicated yet when its password is added',
      error: { operation: 'addServicePrincipalPassword', status: 404, code: 'Request_ResourceNotFound' },
      kind: 'retry',
    },
    {
      name: 'a principal that the resource manager does not know yet',
      error: { service: 'resource-manager', operation: 'putRoleAssignment', code: 'PrincipalNotFound' },
      kind: 'retry',
    },
    {
      name: 'a member that the directory does not know yet',
      error: { operation: 'addGroupMember', status: 404, code: 'Request_ResourceNotFound' },
      kind: 'retry',
    },

    {
      name: 'a deleted assignment',
      error: { service: 'resource-manager', operation: 'deleteRoleAssignment', status: 404 },
      kind: 'done',
    },

    {
      name: 'an application that does not exist',
      error: { operation: 'getApplication', status: 404, code: 'Request_ResourceNotFound' },
      kind: 'gone',
    },
    {
      name: 'a deletion of an application that does not exist',
      error: { operation: 'deleteApplication', status: 404, code: 'Request_ResourceNotFound' },
      kind: 'gone',
    },
    { name: 'nothing to purge', error: { operation: 'purgeDeleted', status: 404 }, kind: 'gone' },
    {
      name: 'an invalid object id',
      error: { operation: 'getApplication', code: 'Request_BadRequest' },
      kind: 'gone',
    },
    {
      name: 'an unknown definition',
      error: {
        service: 'resource-manager',
        operation: 'getRoleDefinition',
        status: 404,
        code: 'RoleDefinitionDoesNotExist',
      },
      kind: 'gone',
    },
    {
      name: 'an unknown definition in an assignment',
      error: {
        service: 'resource-manager',
        operation: 'putRoleAssignment',
        status: 400,
        code: 'RoleDefinitionDoesNotExist',
      },
      kind: 'gone',
    },
    {
      name: 'an unknown scope',
      error: {
        service: 'resource-manager',
        operation: 'putRoleAssignment',
        status: 404,
        code: 'ResourceGroupNotFound',
      },
      kind: 'gone',
    },

    {
      name: 'the quota of the directory',
      error: { operation: 'createApplication', status: 403, code: 'Directory_QuotaExceeded' },
      kind: 'limit',
    },
    {
      name: 'the quota of assignments',
      error: {
        service: 'resource-manager',
        operation: 'putRoleAssignment',
        code: 'RoleAssignmentLimitExceeded',
      },
      kind: 'limit',
    },
    {
      name: 'too many passwords',
      error: { operation: 'addApplicationPassword', code: 'Directory_ResourceSizeExceeded' },
      kind: 'limit',
    },
    {
      name: 'more than two passwords with personal accounts',
      error: { operation: 'addApplicationPassword', code: 'TooManyAppPasswords' },
      kind: 'limit',
    },
    {
      name: 'a longer lifetime than the tenant allows',
      error: {
        operation: 'addServicePrincipalPassword',
        code: 'CredentialLifetimeNotAllowedAsPerAppManagementPolicy',
      },
      kind: 'policy',
    },

    {
      name: 'a wrong root secret',
      error: { service: 'login', operation: 'token', status: 401, code: 'AADSTS7000215' },
      kind: 'credential',
    },
    {
      name: 'an unknown root',
      error: { service: 'login', operation: 'token', code: 'AADSTS700016' },
      kind: 'credential',
    },
    {
      name: 'an unknown tenant',
      error: { service: 'login', operation: 'token', code: 'AADSTS90002' },
      kind: 'credential',
    },

    {
      name: 'throttling',
      error: { operation: 'createServicePrincipal', status: 429, text: 'please try again' },
      kind: 'throttled',
    },
    {
      name: 'throttling of logins',
      error: { service: 'login', operation: 'token', status: 429 },
      kind: 'throttled',
    },

    {
      name: 'a failing directory, whatever its text',
      error: { operation: 'createServicePrincipal', status: 503, text: 'please try again' },
      kind: 'final',
    },
    {
      name: 'no answer',
      error: { operation: 'createServicePrincipal', status: 0, code: 'no_answer', text: 'no such host' },
      kind: 'final',
    },
    {
      name: 'a lost answer',
      error: { operation: 'addServicePrincipalPassword', status: 404, lost: true },
      kind: 'final',
    },
    {
      name: 'an assignment that exists under another name',
      error: {
        service: 'resource-manager',
        operation: 'putRoleAssignment',
        status: 409,
        code: 'RoleAssignmentExists',
      },
      kind: 'refused',
    },
    {
      name: 'a bad request, whatever its text',
      error: { operation: 'createApplication', code: 'Request_BadRequest', text: 'not found' },
      kind: 'refused',
    },
  ])('$name: $kind', ({ error, kind }) => {
    expect(classify(failed(error)).kind).toBe(kind)
  })

  test.each<{
    service: UpstreamFailure['service']
    operation: UpstreamOperation
    text: string
    permission: string
  }>([
    {
      service: 'directory',
      operation: 'createApplication',
      text: '',
      permission: 'Application.ReadWrite.OwnedBy',
    },
    {
      service: 'directory',
      operation: 'createServicePrincipal',
      text: 'Insufficient privileges to complete the operation.',
      permission: 'Application.ReadWrite.OwnedBy',
    },
    {
      service: 'directory',
      operation: 'addApplicationPassword',
      text: '',
      permission: 'Application.ReadWrite.All',
    },
    {
      service: 'directory',
      operation: 'addGroupMember',
      text: '',
      permission: 'GroupMember.ReadWrite.All and Application.ReadWrite.All',
    },
    {
      service: 'directory',
      operation: 'removeGroupMember',
      text: '',
      permission: 'GroupMember.ReadWrite.All',
    },
    { service: 'directory', operation: 'organization', text: '', permission: 'Organization.Read.All' },
    {
      service: 'resource-manager',
      operation: 'putRoleAssignment',
      text: 'no',
      permission: 'Microsoft.Authorization/roleAssignments/write',
    },
    {
      service: 'resource-manager',
      operation: 'putRoleAssignment',
      text: `The client 'a' does not have authorization to perform action 'Microsoft.Authorization/roleDefinitions/read' over scope '/'`,
      permission: 'Microsoft.Authorization/roleDefinitions/read',
    },
  ])('a refusal of $operation names the missing permission $permission', ({ permission, ...failure }) => {
    expect(classify(failed({ ...failure, status: 403, code: 'Authorization_RequestDenied' }))).toMatchObject({
      kind: 'denied',
      permission,
    })
  })

  test('classifies by another step than that of the call', () => {
    const error = failed({ operation: 'getGroup', status: 404 })

    expect([classify(error).kind, classify(error, 'addGroupMember').kind]).toEqual(['gone', 'retry'])
  })
})

// docs/contract/cloud.md#service-principals
describe('callerError', () => {
  test.each<{
    name: string
    error: Partial<UpstreamFailure> & { operation: UpstreamOperation }
    kind: string
    text: string
    retryAfter?: number
  }>([
    {
      name: 'a missing right',
      error: {
        operation: 'createApplication',
        status: 403,
        code: 'Authorization_RequestDenied',
        text: 'Insufficient privileges.',
      },
      kind: 'invalid',
      text: 'when: Authorization_RequestDenied: Insufficient privileges.; missing permission: Application.ReadWrite.OwnedBy',
    },
    {
      name: 'what does not exist',
      error: { operation: 'getApplication', status: 404, code: 'Request_ResourceNotFound', text: 'no x' },
      kind: 'invalid',
      text: 'when: Request_ResourceNotFound: no x',
    },
    {
      name: 'a quota',
      error: { operation: 'createApplication', status: 403, code: 'Directory_QuotaExceeded', text: 'full' },
      kind: 'invalid',
      text: 'when: Directory_QuotaExceeded: full',
    },
    {
      name: 'a wrong root secret',
      error: {
        service: 'login',
        operation: 'token',
        status: 401,
        code: 'AADSTS7000215',
        text: 'Invalid client secret provided.',
      },
      kind: 'invalid',
      text: 'when: AADSTS7000215: Invalid client secret provided.',
    },
    {
      name: 'throttling',
      error: {
        operation: 'createApplication',
        status: 429,
        code: 'TooManyRequests',
        text: 'slow',
        retryAfterMs: 1_500,
      },
      kind: 'upstream',
      text: 'when: TooManyRequests: slow; throttled by the directory',
      retryAfter: 2,
    },
    {
      name: 'throttling without Retry-After',
      error: { service: 'resource-manager', operation: 'putRoleAssignment', status: 429 },
      kind: 'upstream',
      text: 'when; throttled by the resource manager',
      retryAfter: 10,
    },
    {
      name: 'a failing service',
      error: { operation: 'createApplication', status: 500, code: 'InternalServerError', text: 'oh' },
      kind: 'upstream',
      text: 'when: InternalServerError: oh',
    },
    {
      name: 'an ordinary bad request',
      error: { operation: 'addApplicationPassword', code: 'Request_BadRequest', text: 'Invalid value.' },
      kind: 'invalid',
      text: 'when: Request_BadRequest: Invalid value.',
    },
    {
      name: 'a service principal that is refused until the end',
      error: { operation: 'createServicePrincipal', code: 'Request_BadRequest', text: 'x' },
      kind: 'invalid',
      text: 'when: Request_BadRequest: x',
    },
    {
      name: 'an object that was never replicated',
      error: {
        service: 'resource-manager',
        operation: 'putRoleAssignment',
        code: 'PrincipalNotFound',
        text: 'x',
      },
      kind: 'upstream',
      text: 'when: PrincipalNotFound: x',
    },
  ])('$name: $kind', ({ error, kind, text, retryAfter }) => {
    const told = callerError(failed(error), 'when')

    expect({
      kind: told.kind,
      text: told.message,
      wrapped: told.wrapped,
      retryAfter: told.retryAfterSeconds,
    }).toEqual({ kind, text, wrapped: kind === 'upstream', retryAfter })
  })

  test('has only the cause without a text', () => {
    expect(
      callerError(failed({ operation: 'createApplication', status: 502, text: 'bad gateway' })).message,
    ).toBe('bad gateway')
  })
})
