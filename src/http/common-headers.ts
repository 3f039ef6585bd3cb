/** On every answer, unless it says otherwise. docs/contract/http.md#headers */
export const commonHeaders = {
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
}

/** On every answer: the id that logs, audit and the envelope have for its request. docs/explain.md */
export const requestIdHeader = 'x-gatehouse-request-id'

/**
 * What the headers of every answer begin with: the common ones, the id of its request, and the namespace that
 * was named. docs/contract/http.md#headers
 */
export function firstHeaders(
  requestId: string,
  namespace: string | string[] | undefined,
): Record<string, string> {
  const headers: Record<string, string> = { ...commonHeaders, [requestIdHeader]: requestId }
  if (typeof namespace === 'string' && namespace !== '') headers['x-vault-namespace'] = namespace
  return headers
}
