import { listedNames, whileThere } from '../../core/lists.ts'
import type { Core } from '../../core/open/core.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import type { TokenStore } from '../../core/tokens/store/token-store.ts'
import { limitOf, type Resource, resource, tidyReply } from '../../http/resource/resource.ts'
import { atMost, only } from '../../lib/data/async-iterables.ts'
import { answers } from './answers.ts'

/** `auth/token/accessors` and `auth/token/tidy`. docs/contract/tokens-and-policies.md#tokens */
export function accessorResources({
  tokens,
  tidy,
  mostListBytes,
}: Pick<Core, 'tokens' | 'tidy' | 'mostListBytes'>): Resource[] {
  return [
    resource('/accessors', {
      help: 'List the accessors of all service tokens. Their order is unspecified but stable: `after` continues a list.',
      sudo: true,
      collection: true,
      list: {
        summary: 'List accessors',
        ...answers.accessors,
        handle: async ({ mount, sent, whenGone }) => {
          const after = typeof sent.after === 'string' ? sent.after : ''
          const warnings = new Set<string>()
          const walked = whileThere(storedTokens(tokens, after, warnings), { whenGone })
          const isShown = (token: Token) => token.namespace === mount.namespace && tokens.isUsable(token)
          const shown = atMost(limitOf(sent.limit), only(walked, isShown))
          const listed = await listedNames(accessorsOf(shown), mostListBytes)
          return { ...listed, warnings: [...warnings], paged: true }
        },
      },
    }),
    resource('/tidy', {
      help: 'Remove tokens that are no longer valid, in the background.',
      write: { summary: 'Tidy up tokens', ...answers.inBackground, handle: () => tidyReply(tidy.start()) },
    }),
  ]
}

async function* accessorsOf(tokens: AsyncIterable<Token>): AsyncGenerator<string, void, undefined> {
  for await (const { accessor } of tokens) yield accessor
}

/**
 * All service tokens, read page by page: there may be millions. A token's place follows from its accessor, so
 * the walk can continue after an accessor whose token no longer exists.
 */
async function* storedTokens(
  tokens: TokenStore,
  after: string,
  warnings: Set<string>,
): AsyncGenerator<Token, void, undefined> {
  const pages = tokens.pages({
    after: after === '' ? '' : tokens.keys.hashOf(after),
    onUnreadable: () => {
      warnings.add('Some tokens could not be read: the log names their records')
    },
  })
  for await (const page of pages) for (const { token } of page) yield token
}
