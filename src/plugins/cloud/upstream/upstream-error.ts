export type UpstreamService = 'login' | 'directory' | 'resource-manager'

/** Every call there is; what an error means, and which permission it lacks, depends on it. */
export type UpstreamOperation =
  | 'token'
  | 'createApplication'
  | 'getApplication'
  | 'listApplicationOwners'
  | 'findApplications'
  | 'deleteApplication'
  | 'purgeDeleted'
  | 'getDeleted'
  | 'listDeletedApplications'
  | 'addApplicationPassword'
  | 'addNewApplicationPassword'
  | 'removeApplicationPassword'
  | 'createServicePrincipal'
  | 'getServicePrincipal'
  | 'findServicePrincipal'
  | 'addServicePrincipalPassword'
  | 'removeServicePrincipalPassword'
  | 'deleteServicePrincipal'
  | 'getGroup'
  | 'findGroups'
  | 'addGroupMember'
  | 'removeGroupMember'
  | 'organization'
  | 'getRoleDefinition'
  | 'findRoleDefinitions'
  | 'putRoleAssignment'
  | 'deleteRoleAssignment'
  | 'permissions'

export type UpstreamFailure = {
  readonly service: UpstreamService
  readonly operation: UpstreamOperation
  /** 0: no answer. */
  readonly status: number
  /**
   * The service's own word, as `Request_ResourceNotFound` or `AADSTS7000215`; ours where there was no answer
   * to read.
   */
  readonly code: string
  /** The service's own text, cut and cleaned. */
  readonly text: string
  /** Codes of `details`, which name what the outer code does not. */
  readonly details?: readonly string[]
  readonly retryAfterMs?: number | undefined
  readonly requestId?: string | undefined
  /**
   * The call was made, its answer did not come, and it is none to repeat: it may have happened. Look before
   * doing it again.
   */
  readonly lost?: boolean
  /** An earlier try of the same call may have happened, whatever this one came to. */
  readonly inDoubt?: boolean
  /** Of a refusal by the directory: the permissions of the token that was sent. */
  readonly granted?: readonly string[] | undefined
  /** Instead of `<code>: <text>`. */
  readonly message?: string
  readonly cause?: unknown
}

/**
 * A call upstream that failed. The message is `<code>: <text>`, fit for a caller; it holds no secret and no
 * token.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly service: UpstreamService
  readonly operation: UpstreamOperation
  readonly status: number
  readonly code: string
  readonly text: string
  readonly details: readonly string[]
  readonly retryAfterMs: number | undefined
  readonly requestId: string | undefined
  readonly lost: boolean
  readonly inDoubt: boolean
  readonly granted: readonly string[] | undefined

  constructor(failure: UpstreamFailure) {
    const message = failure.message ?? [failure.code, failure.text].filter((part) => part !== '').join(': ')
    super(message, failure.cause === undefined ? undefined : { cause: failure.cause })
    this.service = failure.service
    this.operation = failure.operation
    this.status = failure.status
    this.code = failure.code
    this.text = failure.text
    this.details = failure.details ?? []
    this.retryAfterMs = failure.retryAfterMs
    this.requestId = failure.requestId
    this.lost = failure.lost ?? false
    this.inDoubt = failure.inDoubt ?? false
    this.granted = failure.granted
  }
}
