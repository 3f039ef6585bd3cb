import type { Api } from '../api.ts'
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

export const addPassword = (
  { ask }: Api,
  operation: UpstreamOperation,
  holder: string,
  passwordCredential: NewPassword,
  call: UpstreamCall,
): Promise<AddedPassword> =>
  ask(
    {
      operation,
      method: 'POST',
      path: `${holder}/addPassword`,
      body: { passwordCredential },
      repeatable: false,
    },
    addedPasswordAnswer,
    call,
  )

/** `read` reads the holder after a refusal. Removing a password twice does no harm. */
export const removePassword = (
  { tell }: Api,
  { operation, holder, keyId }: { operation: UpstreamOperation; holder: string; keyId: string },
  call: UpstreamCall,
  read: () => Promise<{ readonly passwordCredentials: readonly PasswordCredential[] }>,
): Promise<void> =>
  unlessSo(
    tell({ operation, method: 'POST', path: `${holder}/removePassword`, body: { keyId } }, call),
    async () => !isAmong((await read()).passwordCredentials, keyId),
  )

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
