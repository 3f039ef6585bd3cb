import { constants, type Stats } from 'node:fs'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCode, writePrivateFile } from '../../../lib/system/private-file.ts'

/*
 * How `npm run root-token` asks a running server: through files beside the database. Only the server's user
 * can create what the server accepts, and only that user can read the answer. docs/operations.md#commands
 */

/** The server's answer. */
export type RootTokenAnswer = { readonly token: string } | { readonly error: string }

const requestOf = (database: string): string => `${database}.root-token-request`
const answerOf = (database: string, id: string): string => `${database}.root-token-${id}`

/** The content of a request: nothing that the server writes for other reasons looks like this. */
const requestText = (id: string): string => `root-token ${id}\n`
const requestForm = /^root-token ([0-9a-f]{32})\n$/
const maxRequestBytes = 64
/** A request that a server did not see at once is from a command that has given up. */
const maxRequestAgeMs = 30_000

/** Why the files in this folder do not prove who wrote them; undefined if they do. */
export async function unsafeFolder(database: string): Promise<string | undefined> {
  const folder = dirname(database)
  const { uid, mode } = await stat(folder)
  if (uid !== 0 && uid !== ownId()) return `${folder} belongs to another user`
  if ((mode & 0o022) !== 0)
    return `${folder} can be written by other users (mode 0${(mode & 0o777).toString(8)})`
  return undefined
}

const ownId = (): number | undefined => process.geteuid?.()

/** Places a request with a random id of 32 hexadecimal digits; replaces an older one. */
export async function placeRequest(database: string, id: string): Promise<void> {
  const path = requestOf(database)
  const draft = `${path}.${id}`
  writePrivateFile(draft, requestText(id))
  // complete from the first moment, and without a second name
  await rename(draft, path)
}

/** Removes a request that was not answered. */
export const withdrawRequest = (database: string): Promise<void> => rm(requestOf(database), { force: true })

/** The answer to a request, which is then removed; undefined if there is none yet. */
export async function takeAnswer(database: string, id: string): Promise<RootTokenAnswer | undefined> {
  const path = answerOf(database, id)
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (systemCode(cause) === 'ENOENT') return undefined
    throw cause
  })
  if (text === undefined) return undefined
  await rm(path)
  // this user's server wrote it
  return JSON.parse(text) as RootTokenAnswer
}

/** A request that the server took, with its id, or the reason why it must not be answered. */
export type TakenRequest = { readonly id: string } | { readonly refused: string }

/** Takes the request, if there is one, and checks who wrote it. */
export async function takeRequest(database: string): Promise<TakenRequest | undefined> {
  const path = requestOf(database)
  try {
    // neither a link nor a pipe must be followed
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    await rm(path)
    const status = await file.stat()
    const refused = suspicionAbout(status) ?? (await unsafeFolder(database))
    if (refused !== undefined) return { refused }
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxRequestBytes), 0, maxRequestBytes)
    const id = requestForm.exec(buffer.toString('latin1', 0, bytesRead))?.[1]
    return id === undefined ? { refused: 'it is no request for a root token' } : { id }
  } catch (cause) {
    const code = systemCode(cause)
    if (code === 'ENOENT') return undefined
    await rm(path, { force: true }).catch(() => {})
    return { refused: `it cannot be read: ${code}` }
  }
}

/** Call it after the file was removed, which takes one from the number of its links. */
function suspicionAbout(status: Stats): string | undefined {
  if (!status.isFile() || status.nlink !== 0) return 'it is not a regular file of one name'
  if (status.uid !== ownId()) return 'it belongs to another user'
  if ((status.mode & 0o077) !== 0) return 'other users can read or write it'
  if (Math.abs(Date.now() - status.mtimeMs) > maxRequestAgeMs) return 'it is too old'
  return undefined
}

/** A root token that is written for the command, but that it does not see before `publish`. */
export type Delivery = { publish(): Promise<void>; withdraw(): Promise<void> }

/** Writes the token durably, readable only by this user. Throws if that is not possible. */
export function deliver(database: string, id: string, answer: RootTokenAnswer): Delivery {
  const path = answerOf(database, id)
  const draft = `${path}.part`
  writePrivateFile(draft, JSON.stringify(answer))
  return { publish: () => rename(draft, path), withdraw: () => rm(draft, { force: true }) }
}
