/** The server refused a call, or could not be reached. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** 0: no response. */
  readonly status: number
  /** As the server sent them. */
  readonly errors: readonly string[]
  /** What an operator needs to find the call in the log. */
  readonly requestId: string

  constructor(status: number, errors: readonly string[], requestId = '') {
    super(errors.join('\n') || `status ${status}`)
    this.status = status
    this.errors = errors
    this.requestId = requestId
  }
}
