import { refuse } from '../../../errors.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import type { Mount } from '../../mounts/mount.ts'
import { mountTtl, type TtlBounds } from '../../tokens/store/lifetime.ts'
import type { TokenStore } from '../../tokens/store/token-store.ts'
import { type Entity, lastLoginDay } from './entity.ts'
import { entityRemoval } from './entity-changes.ts'
import type { IdentityStore, PlannedChange } from './identity-store.ts'

export type IdentityTidyParts = {
  readonly store: IdentityStore
  readonly tokens: TokenStore
  readonly systemTtl: TtlBounds
  mountOf(accessor: string): Mount | undefined
  /** The token mount of a namespace. */
  tokenMountOf(namespace: string): Mount | undefined
}

export type TidyRequest = {
  readonly namespace: string
  readonly unusedForSeconds: number
  /** Only count. */
  readonly dryRun: boolean
  /** Stops after so many. */
  readonly limit?: number
}

/** Number of unused entities, and the first of them. */
export type Tidied = { readonly count: number; readonly sample: readonly Entity[] }

const sampleSize = 10
/** Entities per round; each round scans all tokens once. */
const roundSize = 50_000
/** Concurrent deletions, so that several share a commit. */
const concurrency = 16
const dayMs = 86_400_000

/**
 * Deletes unused entities, such as those of CI jobs with a new subject for each run: created by a login,
 * without a recent login, and without tokens, groups or API writes. Keeps an entity that is used while the
 * tidy runs.
 */
export class IdentityTidy {
  readonly #parts: IdentityTidyParts
  #isRunning = false

  constructor(parts: IdentityTidyParts) {
    this.#parts = parts
  }

  /** Throws `invalid` if a tidy is in progress. */
  async run(request: TidyRequest): Promise<Tidied> {
    if (this.#isRunning) throw refuse('invalid', 'a tidy of identities is already in progress')
    this.#isRunning = true
    try {
      return await this.#run(request)
    } finally {
      this.#isRunning = false
    }
  }

  /** Longest lifetime, in seconds, of batch tokens, which are not stored and so cannot be found. */
  maxTokenLifetime(namespace: string, accessors: readonly string[] = []): number {
    const { systemTtl, mountOf, tokenMountOf } = this.#parts
    const mounts = [tokenMountOf(namespace), ...accessors.map(mountOf)].filter((mount) => mount !== undefined)
    return Math.max(systemTtl.maxTtl, ...mounts.map(({ config }) => mountTtl(config, systemTtl).maxTtl))
  }

  async #run(request: TidyRequest): Promise<Tidied> {
    const sample: Entity[] = []
    const most = request.limit ?? Number.POSITIVE_INFINITY
    let count = 0
    for (let after: string | undefined = ''; after !== undefined && count < most; ) {
      const unused = new Set<string>()
      after = await this.#collect(request, after, unused)
      await this.#parts.store.watching(unused, async () => {
        await this.#keepHolders(unused)
        for await (const ids of pagesOf([...unused], concurrency)) {
          if (count >= most) return
          const chosen = ids.slice(0, most - count)
          const ended = await Promise.all(chosen.map((id) => this.#end(request, id, unused)))
          for (const entity of ended) {
            if (entity === undefined) continue
            count += 1
            if (sample.length < sampleSize) sample.push(entity)
          }
        }
      })
    }
    return { count, sample }
  }

  /** Adds candidates to `unused`. Returns the id to continue after; undefined at the end. */
  async #collect(request: TidyRequest, after: string, unused: Set<string>): Promise<string | undefined> {
    for await (const entity of this.#parts.store.records.all(request.namespace, after)) {
      if (this.#isUnused(entity, request)) unused.add(entity.id)
      if (unused.size === roundSize) return entity.id
    }
    return undefined
  }

  /**
   * Whether an entity is unused, by its record alone. A login counts until the end of its day: only the day
   * is stored.
   */
  #isUnused(entity: Entity, { namespace, unusedForSeconds }: TidyRequest): boolean {
    if (entity.made_by_login !== true || entity.policies.length > 0) return false
    const accessors = entity.aliases.map(({ mount_accessor }) => mount_accessor)
    const quietSeconds = Math.max(unusedForSeconds, this.maxTokenLifetime(namespace, accessors))
    const usedUntil = Date.parse(`${lastLoginDay(entity)}T00:00:00Z`) + dayMs
    return usedUntil + quietSeconds * 1000 <= this.#parts.store.clock.now()
  }

  /** Removes entities with tokens from `unused`. */
  async #keepHolders(unused: Set<string>): Promise<void> {
    const { tokens } = this.#parts
    if (unused.size === 0) return
    for await (const page of tokens.pages()) {
      for (const { token } of page) if (!tokens.isExpired(token)) unused.delete(token.entity_id)
      if (unused.size === 0) return
    }
  }

  /** Checks an entity again and, without `dryRun`, deletes it. Undefined if it is in use or was changed. */
  #end(request: TidyRequest, id: string, unused: ReadonlySet<string>): Promise<Entity | undefined> {
    const { store } = this.#parts
    return store.change(async (): Promise<PlannedChange<Entity | undefined>> => {
      const stored = await store.records.byId(request.namespace, id)
      if (stored === undefined || !this.#isUnused(stored.entity, request)) return { result: undefined }
      const { direct } = await store.memberships.membershipsOf(id)
      const { change } = direct.length > 0 || request.dryRun ? {} : await entityRemoval(store, stored)
      return direct.length > 0 || !unused.has(id) ? { result: undefined } : { result: stored.entity, change }
    })
  }
}
