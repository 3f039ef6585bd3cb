import { createHash } from 'node:crypto'
import type { Caller } from '../../core/callers/access.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import { Cache } from '../../lib/data/cache.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Viewer } from './audience.ts'
import type { ShownMessages } from './shown-messages.ts'

export type BannerParts = {
  readonly shownMessages: Pick<ShownMessages, 'bannerFor'>
  readonly clock: Clock
  viewerBehind(caller: Caller): Promise<Viewer>
}

const hourMs = 3_600_000

/** Tells each token of the banner it is shown, once an hour. docs/contract/message-windows.md#warnings */
export class BannerWarnings {
  readonly #parts: BannerParts
  readonly #told: Cache<true>

  constructor(parts: BannerParts) {
    this.#parts = parts
    this.#told = new Cache<true>({
      name: 'tokens told of banners',
      most: 10_000,
      ttl: { ms: hourMs, clock: parts.clock },
    })
  }

  async for(caller: Caller, namespace: Namespace): Promise<string | undefined> {
    const token = caller.token.accessor || digestOf(caller.tokenId)
    // a login that a request carries has no token that could come again
    if (token === '') return undefined
    const { shownMessages, viewerBehind } = this.#parts
    const banner = await shownMessages.bannerFor(namespace, () => viewerBehind(caller))
    if (banner === undefined) return undefined
    const key = `${token} ${banner.id}`
    if (this.#told.get(key) === true) return undefined
    this.#told.set(key, true)
    return banner.text
  }
}

/** A batch token has no accessor. */
const digestOf = (tokenId: string): string =>
  tokenId === '' ? '' : createHash('sha256').update(tokenId).digest('base64url')
