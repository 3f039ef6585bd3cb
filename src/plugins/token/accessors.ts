import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { TokenStore } from '../../core/tokens/token-store.ts'
import type { TokenTidy } from '../../core/tokens/token-tidy.ts'
import { limitOf, type Reply, resource } from '../../http/resource.ts'
import { answers } from './answers.ts'

export type AccessorParts = { readonly tokens: TokenStore; readonly tidy: TokenTidy }

const pageSize = 200

const started = "Tidy operation successfully started. Any information from the operation will be printed to Gatehouse's server logs."

/** `auth/token/accessors` and `auth/token/tidy`. Contract tokens §2.10. */
export function accessorRoutes(app: FastifyInstance, { tokens, tidy }: AccessorParts): void {
  resource(app, '/accessors', {
    help: 'List the accessors of all service tokens. In no order to rely on, but `after` goes on where a list ended.',
    sudo: true,
    collection: true,
    list: {
      summary: 'List accessors',
      ...answers.accessors,
      handle: ({ mount, sent }) => {
        const after = typeof sent.after === 'string' ? sent.after : ''
        return listed(tokens, { namespace: mount.namespace, after, limit: limitOf(sent.limit) })
      },
    },
  })
  resource(app, '/tidy', {
    help: 'Remove tokens that are no longer valid, in the background.',
    write: {
      summary: 'Tidy up tokens',
      ...answers.inBackground,
      handle: () => (tidy.start() ? { status: 202, warnings: [started] } : { warnings: ['Tidy operation already in progress.'] }),
    },
  })
}

type Wanted = { namespace: string; after: string; limit: number }

/** Page by page: there may be millions. Goes on after an accessor even when its token is gone by now, since its place follows from it. */
async function listed(tokens: TokenStore, { namespace, after, limit }: Wanted): Promise<Reply> {
  const keys: string[] = []
  const warnings: string[] = []
  const full = () => limit > 0 && keys.length >= limit
  let last = after === '' ? undefined : tokens.keys.hashOf(after)
  while (!full()) {
    const page = await tokens.scan({ limit: pageSize, ...(last === undefined ? {} : { after: last }) }, () => {
      if (warnings.length === 0) warnings.push('Some tokens could not be read: the log names their records')
    })
    for (const { token } of page) if (!full() && token.namespace === namespace && tokens.isUsable(token)) keys.push(token.accessor)
    last = page.at(-1)?.hash
    if (last === undefined) break
    await nextTurn()
  }
  return { data: { keys }, warnings, paged: true }
}
