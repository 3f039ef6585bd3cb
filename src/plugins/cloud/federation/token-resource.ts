import { z } from 'zod'
import {
  checkMayReach,
  type DocumentedAnswer,
  type Exchange,
  lowerCase,
  type Resource,
  resource,
} from '../../../http/resource/resource.ts'
import { type FederatedCredentials, type TokenRequest, tokenFields } from './federated-credentials.ts'

export const accessTokenAnswer = {
  output: z.object({
    token_type: z.string(),
    expires_in: z.int(),
    ext_expires_in: z.int(),
    access_token: z.string(),
  }),
  example: {
    token_type: 'Bearer',
    expires_in: 3599,
    ext_expires_in: 3599,
    access_token: 'eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJodHRwcyJ9.c2lnbmF0dXJl',
  },
} satisfies DocumentedAnswer

/** docs/contract/cloud.md#access-tokens */
export function tokenResource(federated: FederatedCredentials): Resource {
  const handle = async (exchange: Exchange<TokenRequest, { name: string }>) => {
    const { call, mount, params, input } = exchange
    checkMayReach(exchange, { operation: 'read', path: `creds/${params.name}`, canonical: lowerCase })
    return { dataText: await federated.token(mount, params.name, input, call.requestId) }
  }
  return resource('/token/:name', {
    help: 'An access token of a federated role, which ends by itself.',
    passesReadOnly: true,
    issuesCredentials: true,
    canonical: lowerCase,
    read: { summary: 'Get an access token', input: tokenFields, ...accessTokenAnswer, handle },
    write: {
      summary: 'Get an access token; `scope` in the body',
      input: tokenFields,
      ...accessTokenAnswer,
      handle,
    },
  })
}
