import { z } from 'zod'
import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import { recordReader } from '../../../core/records/stored-record.ts'
import { hex, type Random } from '../../../lib/system/random.ts'
import type { NewCredential } from '../credentials/new-credential.ts'
import type { LeaseData } from '../records/lease-data.ts'

/** A credential that was made ahead and that nobody has. The barrier seals its secret. */
export type PoolMember = {
  /** When it was stored, in milliseconds since the epoch. */
  readonly since: number
  /** The terms it was made for: `PoolTerms.digest`. */
  readonly terms: string
  readonly data: LeaseData
  readonly answer: NewCredential['answer']
}

export type StoredMember = { readonly key: string; readonly revision: number; readonly member: PoolMember }

/** Why the last refill of a role failed. `at`: when the next one may begin. */
export type PoolFailure = {
  readonly terms: string
  readonly tries: number
  readonly error: string
  readonly at: number
}

/** The plugin lists it in `usedOnce`: after a restoration, members may have been handed out already. */
export const poolPrefix = 'pool/'
const failurePrefix = 'pool-failure/'

const readMember = recordReader<PoolMember>(
  'member of a pool',
  z.object({
    since: z.number(),
    terms: z.string(),
    data: z.looseObject({ role: z.string(), client_id: z.string(), app_object_id: z.string() }),
    answer: z.looseObject({}),
  }),
)

const readFailure = recordReader<PoolFailure>(
  'failure of a pool',
  z.object({ terms: z.string(), tries: z.number(), error: z.string(), at: z.number() }),
)

const membersOf = (role: string): string => `${poolPrefix}${role}/`
const clientIn = (key: string): string | undefined => key.split('/')[2]

/**
 * The pools of one mount. A member is stored by the write that settles its intents, and removed by a write that
 * expects it as it was read and stores intents to undo it. docs/contract/cloud-pool.md#members
 */
export class PoolStore {
  readonly #view: View
  /** Of this server's requests, so that they do not try for the same. */
  readonly #taking = new Set<string>()

  constructor(view: View) {
    // nobody copies secrets that nobody has
    this.#view = view.view('', { numbers: 'plain', isUncopied: true })
  }

  entry(member: PoolMember, random: Random): ViewEntry {
    const { role, client_id } = member.data
    const key = `${membersOf(role)}${client_id.toLowerCase()}/${hex(random, 8)}`
    return this.#view.fromRoot({ key, value: member, expect: 'absent' })
  }

  removal({ key, revision }: StoredMember): ViewEntry {
    return this.#view.fromRoot({ key, value: undefined, expect: revision })
  }

  async all(): Promise<StoredMember[]> {
    const found = await this.#view.list(poolPrefix)
    return found.map(({ key, revision, value }) => ({ key, revision, member: readMember(value) }))
  }

  async count(): Promise<number> {
    return (await this.#view.listKeys(poolPrefix)).length
  }

  /** The members with this client id. */
  async ofClient(clientId: string): Promise<PoolMember[]> {
    const keys = await this.#view.listKeys(poolPrefix)
    const wanted = keys.filter((key) => clientIn(key) === clientId.toLowerCase())
    const found = await Promise.all(wanted.map((key) => this.#find(key)))
    return found.flatMap((one) => one?.member ?? [])
  }

  /**
   * Tries the members of a role, one after the other, until `take` returns something. No two callers of this server try
   * the same at a time.
   */
  async firstOf<T>(
    role: string,
    take: (stored: StoredMember) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (const key of await this.#view.listKeys(membersOf(role))) {
      if (this.#taking.has(key)) continue
      this.#taking.add(key)
      try {
        const stored = await this.#find(key)
        const taken = stored && (await take(stored))
        if (taken !== undefined) return taken
      } finally {
        this.#taking.delete(key)
      }
    }
    return undefined
  }

  async #find(key: string): Promise<StoredMember | undefined> {
    const stored = await this.#view.read(key)
    return stored && { key, revision: stored.revision, member: readMember(stored.value) }
  }

  /** By role. */
  async failures(): Promise<Map<string, PoolFailure>> {
    const found = await this.#view.list(failurePrefix)
    return new Map(found.map(({ key, value }) => [key.slice(failurePrefix.length), readFailure(value)]))
  }

  /** Undefined: it succeeded, or is wanted no more. */
  async noteFailure(role: string, value: PoolFailure | undefined): Promise<void> {
    await this.#view.write([{ key: failurePrefix + role, value }])
  }
}
