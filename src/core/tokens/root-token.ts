import type { View } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import type { Minted, TokenDraft, TokenStore } from './token-store.ts'

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

/** The root token of a new server, not stored yet: so its id can be brought to safety before it is valid. Contract tokens §1.1. */
export const mintInitialRootToken = (tokens: TokenStore, tokenMount: Mount): Minted => tokens.mint({ ...rootDraft(tokenMount), initial_root: true })

/** Makes the root token of a development server, whose id is given, unless it is there already. Contract tokens §2.7, last paragraph. */
export async function ensureDevRootToken(tokens: TokenStore, view: View, tokenMount: Mount, id: string): Promise<void> {
  const minted = tokens.mint({ ...rootDraft(tokenMount), path: `${tokenMount.path}create`, display_name: 'token' }, id)
  await view.write(minted.entries)
}
