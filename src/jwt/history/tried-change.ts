import { Changes } from '../../core/records/change.ts'
import { refuse } from '../../errors.ts'
import type { Exchange, Reply } from '../../http/resource/resource.ts'
import { Limiter } from '../../lib/concurrency/limiter.ts'
import { intField } from '../../lib/text/fields.ts'
import { stringifyJson } from '../../lib/text/json.ts'
import { maySeeConfig, maySeeRole } from './explain-siblings.ts'
import { historyDays } from './history-days.ts'
import { isSame } from './judged.ts'
import { mayLose, type WhatIf } from './what-if.ts'

/** Most callers that wait for a what-if of a mount. */
const mostWaiting = 8

/** One what-if of a mount runs at a time. docs/contract/what-if.md */
export const whatIfTurns = (): Limiter =>
  new Limiter(1, {
    most: mostWaiting,
    ms: 30_000,
    refusal: () => refuse('throttled', 'too many what-ifs of this mount at a time'),
  })

/** A change of a role or of the configuration, which can be tried before it is made. */
export type TriedChange<Stored extends { readonly record: object }> = {
  /** Those of the mount. */
  readonly turns: Limiter
  /** The stored role or configuration. */
  find(): Promise<Stored | undefined>
  whatIf(before: Stored | undefined, isSeen: (role: string) => boolean): Promise<WhatIf>
  /** Calls `check` with the stored record, and writes nothing if that throws. */
  write(check?: (stored: object | undefined) => void): Promise<Reply | undefined>
}

type Asking = Exchange<unknown, unknown>

/** Whether the caller may see what a role expects, and who uses it. `cel/<name>` is a CEL role. */
const seesRole = (exchange: Asking) => (role: string) => maySeeRole(exchange, role) && maySeeConfig(exchange)

/** Tries a change on recent logins, without making it. */
export const tried = <Stored extends { readonly record: object }>(
  exchange: Asking,
  change: TriedChange<Stored>,
): Promise<WhatIf> => change.turns.run(async () => change.whatIf(await change.find(), seesRole(exchange)))

const changes = new Changes({ view: { write: async () => true }, tooMany: 'too many changes at a time' })

/**
 * Makes a change. With a guard, only if the record is still as it was judged, and not if too many would or might lose
 * access. docs/contract/what-if.md#guard
 */
export async function made<Stored extends { readonly record: object }>(
  exchange: Asking,
  change: TriedChange<Stored>,
  sentGuard?: number,
): Promise<Reply | undefined> {
  const most = guardOf(exchange.call.query, sentGuard)
  if (most === undefined) return change.write()
  if (most < 0) throw refuse('invalid', "'guard' must be a number of subjects, 0 or more")
  if (historyDays(exchange.mount) === 0)
    throw refuse('invalid', "'guard' needs a memory of logins: 'history_days' of the mount is 0")
  return change.turns.run(() =>
    changes.runUnordered(async (_write, overtaken) => {
      const before = await change.find()
      const found = await change.whatIf(before, seesRole(exchange))
      if (mayLose(found) > most) return guardRefused(found, most)
      return change.write((stored) => {
        if (!isSame(stored, before?.record)) throw overtaken
      })
    }),
  )
}

type Roles = {
  delete(name: string, check?: (role: { readonly record: object } | undefined) => void): Promise<unknown>
}

/** Deletes a role. */
export const deletion =
  (roles: Roles, name: string): TriedChange<{ readonly record: object }>['write'] =>
  async (check) => {
    await roles.delete(name, check && ((role) => check(role?.record)))
    return undefined
  }

/** The reply of a write. */
export const warned = (warnings: string[]): Reply | undefined =>
  warnings.length === 0 ? undefined : { warnings }

function guardRefused(found: WhatIf, most: number): Reply {
  const error = `${mayLose(found)} recent subjects would or might lose access, and 'guard' allows ${most}`
  const body = `${stringifyJson({ errors: [error], data: found })}\n`
  return { raw: { status: 409, contentType: 'application/json', body } }
}

/** A field of a write that is not stored. */
export const guardField = intField
  .optional()
  .describe(
    'Refuse the write if more recent subjects than this would or might lose access; also in the query',
  )

/** The guard in the query or the body. Undefined without one. */
function guardOf(query: string, sent: number | undefined): number | undefined {
  const asked = new URLSearchParams(query).get('guard')
  return asked === null ? sent : /^\d{1,9}$/.test(asked) ? Number(asked) : -1
}
