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

/** Returns the response of a call, or `otherwise` where the API says 404: an object that is not there, or an empty list. */
export async function ifMissing<T, Otherwise>(
  response: Promise<T>,
  otherwise: Otherwise,
): Promise<T | Otherwise> {
  try {
    return await response
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 404) return otherwise
    throw failure
  }
}

/** Returns the response of a call, or `otherwise` if the token may not make it. */
export async function ifRefused<T, Otherwise>(
  response: Promise<T>,
  otherwise: Otherwise,
): Promise<T | Otherwise> {
  try {
    return await response
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 403) return otherwise
    throw failure
  }
}

/** The keys of a list. */
export const keysOf = async (
  listing: Promise<{ readonly data: { readonly keys: readonly string[] } }>,
): Promise<readonly string[]> => (await ifMissing(listing, { data: { keys: [] } })).data.keys

/** The data of an object, or null if it is not there. */
export const dataOrNull = async <T>(reading: Promise<{ readonly data: T }>): Promise<T | null> =>
  (await ifMissing(reading, null))?.data ?? null
