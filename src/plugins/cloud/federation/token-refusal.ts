import { refuse } from '../../../errors.ts'
import { callerError, type UpstreamError } from '../upstream/index.ts'

const failed = 'error getting an access token'

/** What the login service refuses concerns the scope or the application: neither is a failure of the service. */
export function tokenRefusal(error: UpstreamError): Error {
  const isRefused = error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)
  return isRefused
    ? refuse('invalid', `${failed}: ${error.message}`, { cause: error })
    : callerError(error, failed)
}
