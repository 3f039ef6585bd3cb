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
type NewPassword = { displayName: string; endDateTime: string }

type DirectoryRequest = Omit<GraphRequest, 'service' | 'token' | 'repeatable'> & {
  /** False: sending it twice creates two objects. */
  readonly repeatable?: boolean
}

/** Sends a request with a token and retries. Returns what `read` makes of the successful answer. */
export type DirectorySend = <Result>(
  request: DirectoryRequest,
  call: UpstreamCall,
  read: (answer: UpstreamAnswer, kind: RequestKind) => Result,
) => Promise<Result>

export type DirectoryRequests = ReturnType<typeof directoryRequests>

/** The shapes that requests to the directory come in. `directoryBase` is without `/v1.0`. */
export function directoryRequests(directoryBase: string, send: DirectorySend) {
  /** Sends a request whose answer has this form. */
  const ask = <Schema extends z.ZodType>(
    request: DirectoryRequest,
    schema: Schema,
    call: UpstreamCall,
  ): Promise<z.output<Schema>> => send(request, call, (answer, kind) => readAnswer(kind, answer, schema))

  /** Sends a request whose answer says nothing. */
  const tell = (request: DirectoryRequest, call: UpstreamCall): Promise<void> =>
    send(request, call, () => undefined)

  return {
    send,
    ask,
    tell,
    get: <Schema extends z.ZodType>(
      operation: UpstreamOperation,
      path: string,
      schema: Schema,
      call: UpstreamCall,
    ): Promise<z.output<Schema>> => ask({ operation, method: 'GET', path }, schema, call),
    remove: (operation: UpstreamOperation, path: string, call: UpstreamCall): Promise<void> =>
      tell({ operation, method: 'DELETE', path }, call),
    /** All items of a list, from all pages. */
    list: <Item extends z.ZodType>(
      operation: UpstreamOperation,
      first: string,
      item: Item,
      call: UpstreamCall,
    ): Promise<z.output<Item>[]> => {
      const kind = { service: 'directory', operation, repeatable: true } as const
      return allPages(kind, item, first, async (path, read) => {
        if (path !== first && !path.startsWith(`${directoryBase}/v1.0/`)) throw foreignAddress(kind)
        return await send({ operation, method: 'GET', path }, call, read)
      })
    },
  }
}

type PathOf = (operation: UpstreamOperation, id: string) => string

export const addingPassword =
  ({ ask }: DirectoryRequests, pathOf: PathOf, operation: UpstreamOperation) =>
  async (id: string, passwordCredential: NewPassword, call: UpstreamCall): Promise<AddedPassword> => {
    const path = `${pathOf(operation, id)}/addPassword`
    const body = { passwordCredential }
    return ask({ operation, method: 'POST', path, body, repeatable: false }, addedPasswordAnswer, call)
  }

type Holder = { readonly passwordCredentials: readonly PasswordCredential[] }

/** `read` reads the holder after a refusal. Removing a password twice does no harm. */
export const removingPassword =
  (
    { tell }: DirectoryRequests,
    pathOf: PathOf,
    operation: UpstreamOperation,
    read: (id: string, call: UpstreamCall) => Promise<Holder>,
  ) =>
  async (id: string, keyId: string, call: UpstreamCall): Promise<void> => {
    const path = `${pathOf(operation, id)}/removePassword`
    const removed = tell({ operation, method: 'POST', path, body: { keyId } }, call)
    await unlessSo(removed, async () => !isAmong((await read(id, call)).passwordCredentials, keyId))
  }

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
