import type { z } from 'zod'
import { type RequestKind, readAnswer, type UpstreamAnswer } from '../answer.ts'
import { allPages } from '../paging.ts'
import { foreignAddress, type GraphRequest } from '../transport.ts'
import { type UpstreamCall, UpstreamError, type UpstreamOperation } from '../upstream-error.ts'
import {
  type AddedPassword,
  addedPasswordAnswer,
  isObjectId,
  type PasswordCredential,
} from './directory-answers.ts'

/**
 * `endDateTime` is in RFC 3339. The display name is unique, so that a password whose answer was lost can be found.
 * No start is sent: the directory sets it by its own clock.
 */
export type NewPassword = { displayName: string; endDateTime: string }

/** Sends a request with a token and retries. Returns what `read` makes of the successful answer. */
export type DirectorySend = <Result>(
  request: Omit<GraphRequest, 'service' | 'token'>,
  call: UpstreamCall,
  read: (answer: UpstreamAnswer, kind: RequestKind) => Result,
) => Promise<Result>

export type DirectoryRequests = ReturnType<typeof directoryRequests>

/** The shapes that requests to the directory come in. `directoryBase` is without `/v1.0`. */
export const directoryRequests = (directoryBase: string, send: DirectorySend) => ({
  send,

  get: <Schema extends z.ZodType>(
    operation: UpstreamOperation,
    path: string,
    schema: Schema,
    call: UpstreamCall,
  ): Promise<z.output<Schema>> =>
    send({ operation, method: 'GET', path, repeatable: true }, call, (answer, kind) =>
      readAnswer(kind, answer, schema),
    ),

  remove: (operation: UpstreamOperation, path: string, call: UpstreamCall): Promise<void> =>
    send({ operation, method: 'DELETE', path, repeatable: true }, call, () => undefined),

  /** All items of a list, from all pages. */
  list: <Item extends z.ZodType>(
    operation: UpstreamOperation,
    path: string,
    item: Item,
    call: UpstreamCall,
  ): Promise<z.output<Item>[]> => {
    const kind = { service: 'directory', operation, repeatable: true } as const
    return allPages(kind, item, path, async (address, read) => {
      if (address !== path && !address.startsWith(`${directoryBase}/v1.0/`)) throw foreignAddress(kind)
      return await send({ operation, method: 'GET', path: address, repeatable: true }, call, read)
    })
  },

  addPassword: (
    operation: UpstreamOperation,
    holder: string,
    passwordCredential: NewPassword,
    call: UpstreamCall,
  ): Promise<AddedPassword> =>
    send(
      {
        operation,
        method: 'POST',
        path: `${holder}/addPassword`,
        body: { passwordCredential },
        repeatable: false,
      },
      call,
      (answer, kind) => readAnswer(kind, answer, addedPasswordAnswer),
    ),

  /** `read` reads the holder after a refusal. */
  removePassword: (
    { operation, holder, keyId }: { operation: UpstreamOperation; holder: string; keyId: string },
    call: UpstreamCall,
    read: () => Promise<{ readonly passwordCredentials: readonly PasswordCredential[] }>,
  ): Promise<void> => {
    const path = `${holder}/removePassword`
    return unlessSo(
      // repeatable: removing a password twice does no harm
      send({ operation, method: 'POST', path, body: { keyId }, repeatable: true }, call, () => undefined),
      async () => !isAmong((await read()).passwordCredentials, keyId),
    )
  },
})

export const isAmong = (credentials: readonly { readonly keyId: string }[], keyId: string): boolean =>
  credentials.some((one) => one.keyId.toLowerCase() === keyId.toLowerCase())

/** Ignores the refusal of what is so already. The directory says so in words only, so `isSo` looks. */
export async function unlessSo(request: Promise<void>, isSo: () => Promise<boolean>): Promise<void> {
  try {
    await request
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.status !== 400) throw error
    if (!(await tried(isSo()))) throw error
  }
}

/** What a look after a refusal finds. Undefined if it fails: then the refusal counts. */
export async function tried<Found>(look: Promise<Found>): Promise<Found | undefined> {
  try {
    return await look
  } catch (error) {
    if (error instanceof UpstreamError) return undefined
    throw error
  }
}

export function objectId(operation: UpstreamOperation, id: string): string {
  if (isObjectId(id)) return id
  const failure = { code: 'Request_ResourceNotFound', text: 'not the id of an object', status: 404 }
  throw new UpstreamError({ service: 'directory', operation, ...failure })
}

export const filtered = (collection: string, filter: string): string =>
  `${collection}?$filter=${encodeURIComponent(filter)}`

export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
