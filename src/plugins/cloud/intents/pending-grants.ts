import { isUnsent, UpstreamError } from '../upstream/index.ts'
import type { Intents } from './intents.ts'
import { mayComeLate } from './undo-after-failure.ts'

/**
 * Which rights may exist upstream. One that was refused needs no removal, which could even fail for as long as the
 * same permission is missing. docs/contract/cloud.md#undo
 */
export class PendingGrants {
  readonly #maybe = new Set<string>()
  readonly #doubtful = new Set<string>()
  /** Whether a right that was requested may still be granted. */
  isUnderway = false

  async attempt<Result>(id: string, grant: () => Promise<Result>): Promise<Result> {
    this.#maybe.add(id)
    try {
      return await grant()
    } catch (error) {
      if (!isRefusal(error)) this.#doubtful.add(id)
      if (!this.#doubtful.has(id)) this.#maybe.delete(id)
      throw error
    }
  }

  /** Remembers of all attempts at a right whether the last one may still take effect. */
  async watch(granting: Promise<unknown>): Promise<void> {
    try {
      await granting
    } catch (error) {
      if (mayComeLate(error)) this.isUnderway = true
      throw error
    }
  }

  /**
   * Reduces an intent to the rights that may exist; settles it if there are none. Returns the ids left to undo.
   * Never rejects: if the storage cannot write, the whole intent is left.
   */
  async narrow(
    intents: Pick<Intents, 'amend' | 'settle'>,
    id: string,
    intended: IntendedRights,
  ): Promise<string[]> {
    const [member, ids] =
      'assignment_ids' in intended
        ? ['assignment_ids', intended.assignment_ids]
        : 'grants' in intended
          ? ['grants', intended.grants]
          : ['group_ids', intended.group_ids]
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

type IntendedRights =
  | { readonly assignment_ids: readonly string[] }
  | { readonly group_ids: readonly string[] }
  | { readonly grants: readonly string[] }

/** Neither this attempt nor an earlier try can have granted anything. A conflict means that something exists. */
const isRefusal = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  (isUnsent(error) ||
    (!error.lost && !error.inDoubt && error.status >= 400 && error.status !== 409 && !mayComeLate(error)))
