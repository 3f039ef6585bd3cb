/** Headers of every response, unless it sets them itself. docs/contract/http.md#headers */
export const commonHeaders = {
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
}

/** A header of every response: the id of its request in logs, audit and envelope. docs/explain.md */
export const requestIdHeader = 'x-gatehouse-request-id'

/**
 * The first headers of every response: the common ones, the request id, and the namespace that the request
 * named. docs/contract/http.md#headers
 */
export function firstHeaders(
  requestId: string,
  namespace: string | string[] | undefined,
): Record<string, string> {
  const headers: Record<string, string> = { ...commonHeaders, [requestIdHeader]: requestId }
  if (typeof namespace === 'string' && namespace !== '') headers['x-vault-namespace'] = namespace
  return headers
}
