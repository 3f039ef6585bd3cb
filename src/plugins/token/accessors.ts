import { z } from 'zod'
import { type Detail, listedDetails, listedNames, whileThere } from '../../core/lists.ts'
import type { Core } from '../../core/open/core.ts'
import { secondsLeft } from '../../core/tokens/acts/lookup-data.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import type { TokenStore } from '../../core/tokens/store/token-store.ts'
import { fail } from '../../errors.ts'
import { limitOf, maySend, type Resource, resource, tidyReply } from '../../http/resource/resource.ts'
import { atMost } from '../../lib/data/async-iterables.ts'
import { boolField, stringField } from '../../lib/text/fields.ts'
import { formatTime } from '../../lib/text/time.ts'
import { answers } from './answers.ts'

const listInput = z.object({
  detailed: boolField
    .default(false)
    .describe('true: what is known of each token, in `tokens`; needs update on lookup-accessor'),
  entity_id: stringField
    .default('')
    .describe('Only the tokens of this entity; needs update on lookup-accessor'),
})

/** `auth/token/accessors` and `auth/token/tidy`. docs/contract/tokens-and-policies.md#tokens */
export function accessorResources({
  tokens,
  tidy,
  identities,
  clock,
  mostListBytes,
}: Pick<Core, 'tokens' | 'tidy' | 'identities' | 'clock' | 'mostListBytes'>): Resource[] {
  /** Those of entities that have been merged into it are its own. */
  const idsOf = async (id: string): Promise<readonly string[]> => {
    const entity = (await identities.identityOf(id))?.entity
    return entity === undefined ? [id] : [entity.id, ...(entity.merged_entity_ids ?? [])]
  }
  return [
    resource('/accessors', {
      help: 'List the accessors of all service tokens. Their order is unspecified but stable: `after` continues a list.',
      sudo: true,
      collection: true,
      list: {
        summary: 'List accessors',
        ...answers.accessors,
        input: listInput,
        handle: async (exchange) => {
          const { mount, sent, input, whenGone } = exchange
          const tellsMore = input.detailed || input.entity_id !== ''
          if (tellsMore && !maySend(exchange, { operation: 'update', path: 'lookup-accessor' }))
            throw fail('denied', 'permission denied')
          const holders = input.entity_id === '' ? undefined : await idsOf(input.entity_id)
          const after = typeof sent.after === 'string' ? sent.after : ''
          const warnings = new Set<string>()
          const isShown = (token: Token) =>
            token.namespace === mount.namespace &&
            (holders === undefined || holders.includes(token.entity_id)) &&
            tokens.isUsable(token)
          const walked = whileThere(storedTokens(tokens, { after, isShown, warnings }), { whenGone })
          const shown = atMost(limitOf(sent.limit), walked)
          const listed = input.detailed
            ? asTokens(await listedDetails(detailsOf(shown, clock.now()), mostListBytes))
            : await listedNames(accessorsOf(shown), mostListBytes)
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

async function* accessorsOf(pages: TokenPages): AsyncGenerator<readonly string[], void, undefined> {
  for await (const page of pages) yield page.map(({ accessor }) => accessor)
}

/** Audit entries hash values, not names: an accessor must be no name. */
const asTokens = ({ data: { keys, key_info } }: Awaited<ReturnType<typeof listedDetails>>) => ({
  data: key_info === undefined ? {} : { keys, tokens: Object.values(key_info) },
})

/** docs/contract/tokens-and-policies.md#lists-of-tokens */
async function* detailsOf(
  pages: TokenPages,
  now: number,
): AsyncGenerator<readonly Detail[], void, undefined> {
  for await (const page of pages)
    yield page.map((token) => [
      token.accessor,
      {
        accessor: token.accessor,
        display_name: token.display_name,
        path: token.path,
        policies: token.policies,
        entity_id: token.entity_id,
        orphan: token.parent === '',
        creation_time: Math.floor(token.creation_time / 1000),
        expire_time: token.expire_time === null ? null : formatTime(token.expire_time),
        ttl: secondsLeft(token, now),
        num_uses: token.num_uses,
      },
    ])
}

type TokenPages = AsyncIterable<readonly Token[]>

type Walk = { readonly after: string; isShown(token: Token): boolean; readonly warnings: Set<string> }

/**
 * The service tokens that are shown, read page by page: there may be millions. A token's place follows from its accessor, so
 * the walk can continue after an accessor whose token no longer exists.
 */
async function* storedTokens(
  tokens: TokenStore,
  { after, isShown, warnings }: Walk,
): AsyncGenerator<readonly Token[], void, undefined> {
  const pages = tokens.pages({
    after: after === '' ? '' : tokens.keys.hashOf(after),
    onUnreadable: () => {
      warnings.add('Some tokens could not be read: the log names their records')
    },
  })
  for await (const page of pages) yield page.map(({ token }) => token).filter(isShown)
}
