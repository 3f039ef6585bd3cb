/** An error of a service, before it is converted to the service's error body. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly details: readonly Record<string, unknown>[] | undefined
  readonly headers: Record<string, string>

  constructor(
    status: number,
    code: string,
    message: string,
    extra: { details?: readonly Record<string, unknown>[]; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = extra.details
    this.headers = extra.headers ?? {}
  }
}
