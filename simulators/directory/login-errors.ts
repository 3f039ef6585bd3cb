import { ApiError } from './api-error.ts'

/** The `code` of the error is the OAuth error; its `details` have the number. */
export const loginError = (status: number, error: string, number: number, text: string) =>
  new ApiError(status, error, `AADSTS${number}: ${text}`, { details: [{ number }] })

export const missingParameter = (name: string) =>
  loginError(
    400,
    'invalid_request',
    900144,
    `The request body must contain the following parameter: '${name}'.`,
  )
