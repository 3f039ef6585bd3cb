import { Periodic } from '../core/jobs/background.ts'
import { fixedPaths } from '../core/mounts/mount-path.ts'
import type { Core } from '../core/open/core.ts'
import { createFurtherRootToken } from '../core/tokens/store/root-token.ts'
import { type Delivery, deliver, takeAnswer, takeRequest } from '../core/tokens/store/root-token-request.ts'
import { ServiceError } from '../errors.ts'
import type { Clock } from '../lib/system/clock.ts'
import type { Log } from '../log/log.ts'

export type RootTokenRequestParts = {
  /** Path of the database. */
  readonly database: string
  /** Undefined while the server is sealed. */
  core(): Core | undefined
  readonly clock: Clock
  readonly log: Log
}

const checkMs = 1_000
/** The command has given up by then. */
const fetchedWithinMs = 30_000

/** An answer that the command may not have fetched yet, with the accessor of its token. */
type Answered = { readonly id: string; readonly accessor: string | undefined; readonly time: number }

/**
 * Answers the command `root-token`: looks for its request every second. The caller starts it and disposes of
 * it. docs/operations.md#replace-a-lost-root-token
 */
export function rootTokenRequests(parts: RootTokenRequestParts): Periodic {
  let answered: readonly Answered[] = []
  return new Periodic({
    intervalMs: checkMs,
    run: async () => {
      const before = parts.clock.now() - fetchedWithinMs
      const old = answered.filter(({ time }) => time < before)
      answered = answered.filter(({ time }) => time >= before)
      for (const one of old) await takeBack(one, parts)
      const one = await answerRequest(parts)
      if (one !== undefined) answered = [...answered, one]
    },
    onError: (err) =>
      parts.log.error({ event: 'work_failed', err }, 'could not answer a request for a root token'),
  })
}

/** Removes an answer that was not fetched, because the command was ended, and revokes its token. */
async function takeBack({ id, accessor }: Answered, { database, core, log }: RootTokenRequestParts) {
  if ((await takeAnswer(database, id)) === undefined || accessor === undefined) return
  await core()?.revoker.revoke(accessor)
  log.warn({ event: 'root_token_revoked' }, 'nobody fetched the new root token: it was revoked')
}

async function answerRequest(parts: RootTokenRequestParts): Promise<Answered | undefined> {
  const { database, core, log, clock } = parts
  const request = await takeRequest(database)
  if (request === undefined) return undefined
  if ('refused' in request) {
    const { refused: reason } = request
    log.warn({ event: 'root_token_refused', reason }, 'refused a request for a root token')
    return undefined
  }
  const answered = { id: request.id, time: clock.now() }
  try {
    const accessor = await createFor(request.id, database, core())
    log.warn({ event: 'root_token_made' }, 'the root-token command created a new root token')
    return { ...answered, accessor }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    await deliver(database, request.id, { error: error.message }).publish()
    return { ...answered, accessor: undefined }
  }
}

/**
 * Returns the accessor of the token, which is valid only once it is durably written for the command, which
 * sees it only if it is valid.
 */
async function createFor(id: string, database: string, core: Core | undefined): Promise<string> {
  const tokenMount = core?.mounts.table.at('root', fixedPaths.token)
  if (core === undefined || tokenMount === undefined) throw new ServiceError('sealed', 'Vault is sealed')
  let delivery: Delivery | undefined
  try {
    const accessor = await createFurtherRootToken(
      { tokens: core.tokens, view: core.view, tokenMount },
      (token) => {
        delivery = deliver(database, id, { token })
      },
    )
    await delivery?.publish()
    return accessor
  } catch (error) {
    await delivery?.withdraw()
    throw error
  }
}
