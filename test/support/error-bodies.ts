import type { Json } from './client.ts'

/** A message in the wrapper of docs/contract/http.md#errors. */
export const caused = (text: string) => `1 error occurred:\n\t* ${text}\n\n`

/** A body with these errors and nothing else. */
export const errors = (...texts: string[]) => ({ errors: texts })

/** The request has no token, or one that may not be used from here: docs/contract/http.md#errors */
export const notAccepted = errors('permission denied')

/** The text for a token that is unknown, revoked, expired or spent. */
export const invalidTokenText = '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n'

/** The body for a token that is unknown, revoked, expired or spent. */
export const invalidToken = errors(invalidTokenText)

/** The token may not do that. */
export const notAllowed = errors(caused('permission denied'))

/** The one error text of a body. */
export const errorText = (body: Json): string => String(body['errors']?.[0])
