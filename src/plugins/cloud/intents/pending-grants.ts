import { mayComeLate } from './failed-work.ts'
import type { IntentLog } from './intent.ts'
import { isUnsent, UpstreamError } from '../upstream/index.ts'

/**
 * The rights that were asked for upstream and may be there. What was refused is not: there is nothing to take
 * back, and taking it back may be refused for the same reason, a permission that is missing, for as long as
 * it lasts. docs/contract/cloud.md#undo.
 */
export class PendingGrants {
  readonly #maybe = new Set<string>()
  readonly #doubtful = new Set<string>()

  /** One try to be given the right with this id. */
  async asking<Result>(id: string, attempt: () => Promise<Result>): Promise<Result> {
    this.#maybe.add(id)
    try {
      return await attempt()
    } catch (error) {
      if (!isRefusal(error)) this.#doubtful.add(id)
      if (!this.#doubtful.has(id)) this.#maybe.delete(id)
      throw error
    }
  }

  /**
   * Leaves of an intent what may be there, and gives back its id while that is anything. Never rejects: while
   * storage does not write, the undoing looks for all of it.
   */
  async narrow(intents: IntentLog, id: string, meant: Meant): Promise<string[]> {
    const [member, ids] =
      'assignment_ids' in meant ? ['assignment_ids', meant.assignment_ids] : ['group_ids', meant.group_ids]
    const left = ids.filter((right) => this.#maybe.has(right))
    if (left.length === ids.length) return [id]
    try {
      if (left.length > 0) await intents.amend(id, { [member]: left })
      else await intents.settle([id])
    } catch {
      return [id]
    }
    return left.length > 0 ? [id] : []
  }
}

type Meant = { readonly assignment_ids: readonly string[] } | { readonly group_ids: readonly string[] }

/**
 * Neither this try nor one before it, of which it is a repetition, can have given anything. A conflict tells
 * that something is there.
 */
const isRefusal = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  (isUnsent(error) ||
    (!error.lost && !error.inDoubt && error.status >= 400 && error.status !== 409 && !mayComeLate(error)))
