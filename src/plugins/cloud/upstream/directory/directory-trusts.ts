import { z } from 'zod'
import { readAnswer } from '../answer.ts'
import { mostTrusts, tooManyTrusts } from '../classification.ts'
import { type UpstreamCall, UpstreamError, type UpstreamOperation } from '../upstream-error.ts'
import { type FederatedCredential, trustAnswer } from './directory-answers.ts'
import { type DirectoryRequests, objectId, quoted, tried } from './directory-requests.ts'

/** https://learn.microsoft.com/graph/api/resources/federatedidentitycredential */
export function trustCalls({ send, list, remove }: DirectoryRequests) {
  const pathOf = (operation: UpstreamOperation, id: string) =>
    `/applications/${objectId(operation, id)}/federatedIdentityCredentials`
  const named = (operation: UpstreamOperation, id: string, name: string) =>
    `${pathOf(operation, id)}(name=${encodeURIComponent(quoted(name))})`
  const all = async (id: string, call: UpstreamCall): Promise<FederatedCredential[]> => {
    const operation = 'listFederatedCredentials'
    return list(
      operation,
      `${pathOf(operation, id)}?$select=name,issuer,subject,audiences`,
      trustAnswer,
      call,
    )
  }
  return {
    /** Creates the trust of this name, or changes it. */
    putFederatedCredential: async (
      id: string,
      { name, ...body }: FederatedCredential,
      call: UpstreamCall,
    ): Promise<void> => {
      const operation = 'putFederatedCredential'
      const path = named(operation, id, name)
      const put = send(
        { operation, method: 'PATCH', path, body, prefer: 'create-if-missing' },
        call,
        // a change has no body; a page of a proxy is no answer
        (answer, kind) => {
          if (answer.status !== 204) readAnswer(kind, answer, z.object({ name: z.string() }))
        },
      )
      await put.catch(async (error: unknown) => {
        if (!(error instanceof UpstreamError) || error.status !== 400) throw error
        const others = await tried(all(id, call))
        if (others === undefined || others.length < mostTrusts) throw error
        if (others.some((one) => one.name === name)) throw error
        throw error.with({ details: [...error.details, tooManyTrusts] })
      })
    },
    deleteFederatedCredential: async (id: string, name: string, call: UpstreamCall): Promise<void> => {
      const operation = 'deleteFederatedCredential'
      await remove(operation, named(operation, id, name), call)
    },
    listFederatedCredentials: all,
  }
}
