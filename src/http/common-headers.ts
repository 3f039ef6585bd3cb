/** On every answer, unless it says otherwise. Contract core-http §1.9. */
export const commonHeaders = {
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
}
