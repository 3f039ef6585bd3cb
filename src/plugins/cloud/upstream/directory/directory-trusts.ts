import { z } from 'zod'
import { readAnswer } from '../answer.ts'
import { mostTrusts, tooManyTrusts } from '../classification.ts'
import { UpstreamError, type UpstreamOperation } from '../upstream-error.ts'
import type { DirectoryApi } from './directory-api.ts'
import { type DirectoryRequests, objectId, quoted, tried } from './directory-requests.ts'

type TrustCalls = Pick<
  DirectoryApi,
  'putFederatedCredential' | 'deleteFederatedCredential' | 'listFederatedCredentials'
>

const trustAnswer = z.object({ name: z.string() })
/** A trust with an expression in place of a subject has none. */
const trustListed = trustAnswer.extend({
  issuer: z.string().catch(''),
  subject: z.string().catch(''),
  audiences: z.array(z.string()).catch([]),
})

/** https://learn.microsoft.com/graph/api/resources/federatedidentitycredential */
export function trustCalls({ send, list }: DirectoryRequests): TrustCalls {
  const pathOf = (operation: UpstreamOperation, id: string) =>
    `/applications/${objectId(operation, id)}/federatedIdentityCredentials`
  const named = (operation: UpstreamOperation, id: string, name: string) =>
    `${pathOf(operation, id)}(name=${encodeURIComponent(quoted(name))})`
  const all: TrustCalls['listFederatedCredentials'] = async (id, call) => {
    const operation = 'listFederatedCredentials'
    const path = `${pathOf(operation, id)}?$select=name,issuer,subject,audiences`
    return list(operation, path, trustListed, call)
  }
  return {
    putFederatedCredential: async (id, { name, ...body }, call) => {
      const operation = 'putFederatedCredential'
      const put = send(
        {
          operation,
          method: 'PATCH',
          path: named(operation, id, name),
          body,
          repeatable: true,
          prefer: 'create-if-missing',
        },
        call,
        // a change has no body; a page of a proxy is no answer
        (answer, kind) => (answer.status === 204 ? undefined : readAnswer(kind, answer, trustAnswer)),
      )
      await put.catch(async (error: unknown) => {
        if (!(error instanceof UpstreamError) || error.status !== 400) throw error
        const others = await tried(all(id, call))
        if (others === undefined || others.length < mostTrusts) throw error
        if (others.some((one) => one.name === name)) throw error
        throw new UpstreamError({
          ...error,
          message: error.message,
          details: [...error.details, tooManyTrusts],
        })
      })
    },
    deleteFederatedCredential: async (id, name, call) => {
      const operation = 'deleteFederatedCredential'
      await send(
        { operation, method: 'DELETE', path: named(operation, id, name), repeatable: true },
        call,
        () => undefined,
      )
    },
    listFederatedCredentials: all,
  }
}
