import type { TokenDraft } from '../src/core/tokens/store/token-store.ts'
import { openStoppedStore } from './stopped-store.ts'

export type FillInput = {
  /** The folder of a stopped server. */
  folder: string
  /** A token of that store, issued by a login; the new ones are copies with their own ids and TTLs. */
  like: string
  count: number
  onProgress: (done: number) => void
}

const tokensPerWrite = 1000
const shortestTtlSeconds = 24 * 3600
const ttlSpreadSeconds = 30 * 24 * 3600

/**
 * Writes `count` tokens into a store, as logins would, but many per commit. They expire over a month, from
 * tomorrow on.
 */
export async function fillTokens({ folder, like, count, onProgress }: FillInput): Promise<void> {
  await using core = await openStoppedStore(folder)
  const { tokens, view } = core
  const template = await tokens.find(tokens.keys.accessorOf(like))
  if (template === undefined) throw new Error('the token to imitate is not in this store')
  const {
    accessor: _,
    cubbyhole_id: _cubbyhole,
    creation_time: _created,
    issue_time: _issued,
    expire_time: _ends,
    ...rest
  } = template

  let written = Promise.resolve(true)
  for (let done = 0; done < count; ) {
    const size = Math.min(tokensPerWrite, count - done)
    const entries = Array.from(
      { length: size },
      (_one, index) => tokens.mint(withTtl(rest, done + index)).entries,
    ).flat()
    // one batch is built while the previous one is committed
    if (!(await written)) throw new Error('a batch was refused')
    written = view.write(entries)
    done += size
    onProgress(done)
  }
  if (!(await written)) throw new Error('the last batch was refused')
}

const withTtl = (draft: TokenDraft, index: number): TokenDraft => ({
  ...draft,
  ttl: shortestTtlSeconds + ((index * 7919) % ttlSpreadSeconds),
})
