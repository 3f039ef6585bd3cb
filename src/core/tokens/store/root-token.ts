import type { Storage } from '../../../storage/storage.ts'
import type { View } from '../../barrier/view.ts'
import type { CoreLog } from '../../core-log.ts'
import { firstStart, onOneServer } from '../../jobs/on-one-server.ts'
import type { Mount } from '../../mounts/mount.ts'
import { fixedPaths } from '../../mounts/mount-path.ts'
import type { MountStore } from '../../mounts/mount-store.ts'
import { orphanDraft, type TokenDraft, type TokenStore } from './token-store.ts'
import { writeMinted } from './write-minted.ts'

const rootDraft = (mount: Mount): TokenDraft => ({
  ...orphanDraft(mount),
  policies: ['root'],
  path: `${mount.path}root`,
  display_name: 'root',
})

/** Receives the first root token. */
export type RootTokenTeller = {
  /** Called before the token becomes valid. */
  keep(token: string): void
  /** Called when it is valid; rejects with a StartError if it could not be delivered. */
  tell(token: string): Promise<void> | void
}

export type RootTokenParts = { readonly tokens: TokenStore; readonly view: View; readonly tokenMount: Mount }

/**
 * Creates the root token of a new server and returns its id. Unless the caller tells it (`isTold`), the next
 * start does. docs/contract/tokens-and-policies.md#tokens
 */
export async function createInitialRootToken(
  { tokens, view, tokenMount }: RootTokenParts,
  { isTold = false }: { isTold?: boolean } = {},
): Promise<string> {
  const minted = tokens.mint({ ...rootDraft(tokenMount), initial_root: true })
  await view.write([...minted.entries, ...(isTold ? [] : [{ key: untoldKey, value: { id: minted.id } }])])
  return minted.id
}

/** Key of the first root token's id, stored until the operator has received it. */
const untoldKey = 'root-token-untold'

/**
 * Passes the first root token to `tell`, unless an earlier start did. If `tell` fails or the process is
 * killed, the next start tries again, so that the token is not lost. Rejects with the error of `tell`.
 */
async function tellInitialRootToken(
  { view, storage }: Pick<StartParts, 'view' | 'storage'>,
  tell: (id: string) => Promise<void> | void,
): Promise<void> {
  const isNeeded = async () => (await untoldIn(view)) !== undefined
  await onOneServer(storage, { name: firstStart, isNeeded }, async () => {
    await tell((await untoldIn(view)) ?? '')
    await view.write([{ key: untoldKey, value: undefined }])
  })
}

async function untoldIn(view: View): Promise<string | undefined> {
  const untold = await view.get(untoldKey)
  if (typeof untold !== 'object' || untold === null || !('id' in untold)) return undefined
  return typeof untold.id === 'string' ? untold.id : undefined
}

/**
 * Stores the root token of a development server under the given id; no-op if that token exists.
 * docs/contract/tokens-and-policies.md#tokens
 */
export async function ensureDevRootToken(
  { tokens, view, tokenMount }: RootTokenParts,
  id: string,
): Promise<void> {
  const minted = tokens.mint(
    { ...rootDraft(tokenMount), path: `${tokenMount.path}create`, display_name: 'token' },
    id,
  )
  await view.write(minted.entries)
}

/** Key of a note that a further root token was created. A server that reads it logs and deletes it. */
const noteKey = 'root-token-made'

/**
 * Creates a further root token, and returns its accessor. Calls `keep` with its id before the token becomes
 * valid. With `noteAt`, a time in milliseconds, a server logs it. docs/storage.md#seal-key (lost root token)
 */
export async function createFurtherRootToken(
  { tokens, view, tokenMount }: RootTokenParts,
  keep: (id: string) => void,
  { noteAt }: { noteAt?: number } = {},
): Promise<string> {
  const minted = tokens.mint(rootDraft(tokenMount))
  keep(minted.id)
  const note = noteAt === undefined ? [] : [{ key: noteKey, value: { time: new Date(noteAt).toISOString() } }]
  await view.write([...minted.entries, ...note])
  tokens.remember(minted)
  return minted.token.accessor
}

/** Creates a further root token. Returns what `encode` makes of its id before the token becomes valid. */
export async function createRootToken(
  { tokens, view, tokenMount }: RootTokenParts,
  encode: (id: string) => Promise<string>,
): Promise<string> {
  const minted = tokens.mint(rootDraft(tokenMount))
  const encoded = await encode(minted.id)
  await writeMinted(view, minted)
  tokens.remember(minted)
  return encoded
}

/** Returns and deletes the time at which a further root token was created since the last start, if any. */
async function takeRootTokenNote(view: View): Promise<string | undefined> {
  const note = await view.take(noteKey)
  return typeof note === 'object' && note !== null && 'time' in note ? String(note.time) : undefined
}

export type StartParts = {
  readonly storage: Pick<Storage, 'shared'>
  readonly tokens: TokenStore
  readonly view: View
  readonly mounts: MountStore
  /** Whether this start created the store, and therefore has passed the first root token to `keep`. */
  readonly barrier: { readonly initialized: boolean }
  readonly rootToken: RootTokenTeller
  readonly log: CoreLog
}

/** What each start does about root tokens: tells the first one, or stores that of a development server. */
export async function storeRootToken(parts: StartParts, devRootToken: string | undefined): Promise<void> {
  const { tokens, view, mounts, rootToken, barrier } = parts
  if (devRootToken !== undefined) {
    const tokenMount = mounts.table.at('root', fixedPaths.token)
    if (tokenMount === undefined) throw new Error('the mount table has no token mount')
    rootToken.keep(devRootToken)
    await ensureDevRootToken({ tokens, view, tokenMount }, devRootToken)
    await rootToken.tell(devRootToken)
  } else {
    await tellInitialRootToken(parts, async (id) => {
      // a start that could not tell the token did not keep it where the settings of this one say
      if (!barrier.initialized) rootToken.keep(id)
      await rootToken.tell(id)
    })
  }
  await logRootTokenNote(parts)
  view.watch(noteKey, () => logRootTokenNote(parts))
}

/** docs/operations.md#commands */
async function logRootTokenNote({ view, log }: StartParts): Promise<void> {
  try {
    const time = await takeRootTokenNote(view)
    if (time !== undefined)
      log.warn({ event: 'root_token_made', made_at: time }, 'the root-token command created a new root token')
  } catch (err) {
    log.error({ event: 'record_unreadable', err }, 'cannot read whether a root token was created')
  }
}
