import type { View } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import type { TokenDraft, TokenStore } from './token-store.ts'

const rootDraft = (mount: Mount): TokenDraft => ({
  parent: '',
  namespace: mount.namespace,
  policies: ['root'],
  path: `${mount.path}root`,
  meta: null,
  display_name: 'root',
  num_uses: 0,
  ttl: 0,
  explicit_max_ttl: 0,
  period: 0,
  entity_id: '',
  bound_cidrs: [],
  type: 'service',
  renewable: false,
  mount_accessor: mount.accessor,
  internal: {},
})

export type RootTokenParts = { readonly tokens: TokenStore; readonly view: View; readonly tokenMount: Mount }

/** Makes the root token of a new server; gives back its id. docs/contract/tokens-and-policies.md#tokens */
export async function createInitialRootToken({ tokens, view, tokenMount }: RootTokenParts): Promise<string> {
  const minted = tokens.mint({ ...rootDraft(tokenMount), initial_root: true })
  await view.write([...minted.entries, { key: untoldKey, value: { id: minted.id } }])
  return minted.id
}

/** Holds the first root token from the write that makes it valid until the operator has it. */
const untoldKey = 'root-token-untold'

/**
 * Tells the first root token, unless that was done. A start that was killed or could not print it leaves it to the next one: a token that nobody got
 * must not be lost. Rejects with what `tell` throws.
 */
export async function tellInitialRootToken(view: View, tell: (id: string) => Promise<void> | void): Promise<void> {
  const untold = await view.get(untoldKey)
  if (typeof untold !== 'object' || untold === null || !('id' in untold) || typeof untold.id !== 'string') return
  await tell(untold.id)
  await view.write([{ key: untoldKey, value: undefined }])
}

/** Makes the root token of a development server, whose id is given, unless it is there already. docs/contract/tokens-and-policies.md#tokens */
export async function ensureDevRootToken({ tokens, view, tokenMount }: RootTokenParts, id: string): Promise<void> {
  const minted = tokens.mint({ ...rootDraft(tokenMount), path: `${tokenMount.path}create`, display_name: 'token' }, id)
  await view.write(minted.entries)
}

/** Says, until the next start has logged it, that a root token was made beside the first one. */
const noteKey = 'root-token-made'

/** Makes one more root token, `now` in milliseconds; `keep` gets its id before it is valid. docs/storage.md#seal-key (lost root token). */
export async function createFurtherRootToken({ tokens, view, tokenMount }: RootTokenParts, now: number, keep: (id: string) => void): Promise<void> {
  const minted = tokens.mint(rootDraft(tokenMount))
  keep(minted.id)
  await view.write([...minted.entries, { key: noteKey, value: { time: new Date(now).toISOString() } }])
}

/** When a root token was made since the last start, if so: told once. */
export async function takeRootTokenNote(view: View): Promise<string | undefined> {
  const note = await view.take(noteKey)
  return typeof note === 'object' && note !== null && 'time' in note ? String(note.time) : undefined
}
