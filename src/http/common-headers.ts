/** On every answer, unless it says otherwise. Contract core-http §1.9. */
export const commonHeaders = {
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
}

/** On every answer: the id that logs, audit and the envelope have for its request. Contract jwt-oidc §11. */
export const requestIdHeader = 'x-gatehouse-request-id'
