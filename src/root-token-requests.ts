import { Periodic } from './core/background.ts'
import type { Core } from './core/core.ts'
import { fixedPaths } from './core/mounts/mount-path.ts'
import { createFurtherRootToken } from './core/tokens/root-token.ts'
import { deliver, type Delivery, takeRequest } from './core/tokens/root-token-request.ts'
import { ServiceError } from './errors.ts'
import type { Log } from './log.ts'

export type RootTokenRequestParts = {
  /** Path of the database. */
  readonly database: string
  /** Undefined while the server is sealed. */
  core(): Core | undefined
  readonly log: Log
}

const checkMs = 1_000

/**
 * Answers the command `root-token`: looks for its request every second. The caller starts it and disposes of
 * it. docs/operations.md#replace-a-lost-root-token
 */
export const rootTokenRequests = (parts: RootTokenRequestParts): Periodic =>
  new Periodic({
    intervalMs: checkMs,
    run: () => answerRequest(parts),
    onError: (err) => parts.log.error({ err }, 'could not answer a request for a root token'),
  })

async function answerRequest({ database, core, log }: RootTokenRequestParts): Promise<void> {
  const request = await takeRequest(database)
  if (request === undefined) return
  if ('refused' in request) {
    const { refused: reason } = request
    log.warn({ event: 'root_token_refused', reason }, 'refused a request for a root token')
    return
  }
  try {
    await createFor(request.id, database, core())
    log.warn({ event: 'root_token_made' }, 'the root-token command created a new root token')
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    await deliver(database, request.id, { error: error.message }).publish()
  }
}

/** The token is valid only once it is durably written for the command, which sees it only if it is valid. */
async function createFor(id: string, database: string, core: Core | undefined): Promise<void> {
  const tokenMount = core?.mounts.table.at('root', fixedPaths.token)
  if (core === undefined || tokenMount === undefined) throw new ServiceError('sealed', 'Vault is sealed')
  let delivery: Delivery | undefined
  try {
    await createFurtherRootToken({ ...core, tokenMount }, (token) => {
      delivery = deliver(database, id, { token })
    })
    await delivery?.publish()
  } catch (error) {
    await delivery?.withdraw()
    throw error
  }
}
