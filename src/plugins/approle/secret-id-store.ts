import { z } from 'zod'
import type { View, ViewEntry, ViewRecord } from '../../core/barrier/view.ts'
import type { KeyedHash } from '../../core/records/keyed-hash.ts'
import { ifReadable } from '../../core/records/stored-record.ts'
import { refuse } from '../../errors.ts'
import { letOthersRun } from '../../lib/data/pages.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Role } from './role.ts'
import { readSecretId, type SecretId } from './secret-id.ts'

/*
 * The keys of the records of secret ids, in the view of their mount. `role` is the UUID of a role, `hash` the
 * hash of a secret id, and `accessor` the hash of an accessor.
 */

/** A secret id: its `SecretId`. */
const secretIdKey = (role: string, hash: string): string => `${secretIdsOf(role)}${hash}`
const secretIdsOf = (role: string): string => `secret-id/${role}/`

/** Which secret id an accessor belongs to, of which role. */
const accessorKey = (accessor: string): string => `accessor/${accessor}`

/** The accessors of a role, in the order of their hashes, for its list. */
const listedKey = (role: string, accessor: string): string => `${listedOf(role)}${accessor}`
const listedOf = (role: string): string => `listed/${role}/`

/** The secret ids that end, in the order of their ends. */
const endKey = (ends: number, role: string, hash: string): string =>
  `${endPrefix}${paddedTime(ends)}/${role}/${hash}`
const endPrefix = 'end/'
/** Sorts after the ends up to this time, and before all later ones. */
const endsAfter = (time: number): string => `${endPrefix}${paddedTime(time)}/~`

/** What a key of `endKey` says. */
function endOf(key: string): { readonly ends: number; readonly role: string; readonly hash: string } {
  const [ends = '', role = '', hash = ''] = key.slice(endPrefix.length).split('/')
  return { ends: Number(ends), role, hash }
}

/** Greatest time that fits in a key. */
const lastTime = 10 ** 15 - 1
const paddedTime = (time: number): string =>
  String(Math.min(lastTime, Math.max(0, Math.trunc(time)))).padStart(15, '0')

/** A deleted role, whose secret ids are void and not yet deleted. */
export const voidKey = (role: string): string => `${voidPrefix}${role}`
const voidPrefix = 'void/'

export type SecretIdStoreParts = {
  /** The mount's own. */
  readonly view: View
  readonly clock: Clock
  readonly hashOfAccessor: () => Promise<KeyedHash>
}

/** A stored secret id, and where it is stored. */
export type FoundSecretId = {
  readonly secretId: SecretId
  /** UUID of its role. */
  readonly role: string
  readonly hash: string
  readonly revision: number
}

const accessorRow = z.object({ role: z.string(), hash: z.string() })

export type SecretIdSearch = {
  readonly after: string
  readonly limit: number
  matches(secretId: SecretId): boolean
  /** Whether one more can be part of the response. */
  fits(secretId: SecretId): boolean
}

/** Records that one search looks at. */
const mostSearched = 10_000

/** Secret ids per step of background work: so many are deleted within ten milliseconds. */
const stepSize = 64
/**
 * How long a deleted role is remembered after its secret ids are deleted: a server that still had a copy of
 * the role may have stored one more.
 */
const voidMs = 600_000
const voidRow = z.object({ emptiedAt: z.number().optional() })

/**
 * The secret ids of one mount. Each is a record under its hash, which only the key of its role can compute,
 * a row that finds it by accessor, a row in the list of its role, and, if it ends, a row by its end. They are
 * written and deleted together. Nobody keeps copies.
 */
export class SecretIdStore {
  readonly #parts: SecretIdStoreParts
  readonly #view: View

  constructor(parts: SecretIdStoreParts) {
    this.#parts = parts
    this.#view = parts.view.view('', { isUncopied: true })
  }

  /** Stores a new one. Throws `invalid` if the role has a valid one with the same secret. */
  async add(role: Role, secret: string, secretId: SecretId): Promise<void> {
    const place = { role: role.record.uuid, hash: role.hashOf(secret) }
    const key = secretIdKey(place.role, place.hash)
    for (;;) {
      const before = await this.#read(key)
      if (before !== undefined && !this.#isOver(before.secretId)) throw alreadyRegistered()
      // one that has ended makes room
      const old = before === undefined ? [] : await this.#rowsOf(before, undefined)
      const rows = await this.#rowsOf({ ...place, secretId }, secretId)
      const first: ViewEntry = { key, value: secretId, expect: before?.revision ?? 'absent' }
      const alive: ViewEntry = { key: voidKey(place.role), value: undefined, expect: 'absent' }
      if (await this.#view.write([first, alive, ...old, ...rows])) return
      if ((await this.#view.get(alive.key)) !== undefined) throw refuse('missing', goneText(role.name))
    }
  }

  /** The valid secret id of the role with this secret. */
  async find(role: Role, secret: string): Promise<FoundSecretId | undefined> {
    const found = await this.seek(role, secret)
    return found === 'ended' ? undefined : found
  }

  /** The secret id of the role with this secret; `ended` if it is not valid any more, and not removed yet. */
  async seek(role: Role, secret: string): Promise<FoundSecretId | 'ended' | undefined> {
    const found = await this.#read(secretIdKey(role.record.uuid, role.hashOf(secret)))
    return found !== undefined && this.#isOver(found.secretId) ? 'ended' : found
  }

  /** Whose secret id has this accessor, and the secret id if it belongs to this role. */
  async findByAccessor(role: Role, accessor: string): Promise<FoundSecretId | 'of another role' | undefined> {
    const place = await this.#placeOf(accessor)
    if (place === undefined) return undefined
    if (place.role !== role.record.uuid) return 'of another role'
    const found = await this.#read(secretIdKey(place.role, place.hash))
    // deleted or replaced since
    if (found === undefined || found.secretId.accessor !== accessor || this.#isOver(found.secretId))
      return undefined
    return found
  }

  /** Deletes a secret id, unless it has ended or been used up meanwhile. */
  async destroy(found: FoundSecretId): Promise<void> {
    for (let now: FoundSecretId | undefined = found; now !== undefined; ) {
      if (await this.#view.write(await this.#removal(now))) return
      const again: FoundSecretId | undefined = await this.#read(keyOf(found))
      now = again?.secretId.accessor === found.secretId.accessor ? again : undefined
    }
  }

  /**
   * The entries that count one login, for the write of its token: they hold only if nobody has used or
   * destroyed the secret id since it was read. Empty for one with any number of logins.
   */
  async useOf(found: FoundSecretId): Promise<ViewEntry[]> {
    const { secretId, revision } = found
    if (secretId.num_uses === 0) return []
    const entries =
      secretId.num_uses === 1
        ? await this.#removal(found)
        : [
            {
              key: keyOf(found),
              value: { ...secretId, num_uses: secretId.num_uses - 1, updated: this.#parts.clock.now() },
              expect: revision,
            },
          ]
    return entries.map((entry) => this.#view.fromRoot(entry))
  }

  /** Whether the secret id was used, destroyed or replaced since it was read. */
  async hasChanged(found: FoundSecretId): Promise<boolean> {
    return (await this.#view.read(keyOf(found)))?.revision !== found.revision
  }

  /** The accessors of a role's valid secret ids, after this one, in no particular order and in pages. */
  async *accessors(role: Role, after: string): AsyncGenerator<readonly string[], void, undefined> {
    const { uuid } = role.record
    const start = after === '' ? undefined : listedKey(uuid, await this.#hashOf(after))
    for await (const page of this.#view.pages(listedOf(uuid), start))
      yield page
        .map(({ value }) => readListed(value))
        .filter((row) => !this.#isOver(row))
        .map(({ accessor }) => accessor)
  }

  /**
   * Looks at the records of a role after the one with this accessor, which must be there. `next` is the accessor
   * to go on after; empty at the end.
   */
  async search(
    role: Role,
    { after, limit, matches, fits }: SecretIdSearch,
  ): Promise<{ found: SecretId[]; next: string }> {
    const { uuid } = role.record
    const place = after === '' ? undefined : await this.#placeOf(after)
    if (after !== '' && place?.role !== uuid)
      throw refuse('invalid', 'after is the accessor of no secret id of the role: begin again without it')
    const start = place && secretIdKey(place.role, place.hash)
    const found: SecretId[] = []
    let looked = 0
    let last = ''
    for await (const page of this.#view.pages(secretIdsOf(uuid), start))
      for (const { value } of page) {
        if (looked === mostSearched || found.length === limit) return { found, next: last }
        const secretId = readSecretId(value)
        const isFound = !this.#isOver(secretId) && matches(secretId)
        if (isFound && !fits(secretId)) return { found, next: last }
        if (isFound) found.push(secretId)
        last = secretId.accessor
        looked += 1
      }
    return { found, next: '' }
  }

  /** Where the record of the secret id with this accessor is. */
  async #placeOf(accessor: string): Promise<z.output<typeof accessorRow> | undefined> {
    const stored = await this.#view.get(accessorKey(await this.#hashOf(accessor)))
    return stored === undefined ? undefined : accessorRow.parse(stored)
  }

  /** Deletes what has ended, and what is left of deleted roles, until `stopping` is aborted. */
  async sweep(stopping: AbortSignal): Promise<void> {
    for (;;) {
      const until = endsAfter(this.#parts.clock.now())
      const keys = (await this.#view.listKeys(endPrefix, { limit: stepSize })).filter((key) => key < until)
      const removals: ViewEntry[][] = []
      for (const key of keys) {
        removals.push(await this.#removalAt(key))
      }
      // if one of the records has changed, the others must not wait for it
      if (!(await this.#view.write(removals.flat())))
        for (const removal of removals) await this.#view.write(removal)
      if (keys.length < stepSize || stopping.aborted) break
      await letOthersRun()
    }
    for (const { key, value } of await this.#view.list(voidPrefix))
      await this.#empty(key.slice(voidPrefix.length), value, stopping)
  }

  /** The deletion of the secret id that a row of the expiry index names, and of the row. */
  async #removalAt(key: string): Promise<ViewEntry[]> {
    const { ends, role, hash } = endOf(key)
    const named = await ifReadable(this.#read(secretIdKey(role, hash)))
    return named?.secretId.ends === ends ? this.#removal(named) : [{ key, value: undefined }]
  }

  async #empty(role: string, stored: unknown, stopping: AbortSignal): Promise<void> {
    const { emptiedAt } = voidRow.parse(stored)
    while (!stopping.aborted) {
      const page = await this.#view.listKeys(secretIdsOf(role), { limit: stepSize })
      if (page.length === 0) break
      const entries: ViewEntry[] = []
      for (const key of page) {
        // a record that cannot be read must not keep others from being deleted
        const found = await ifReadable(this.#read(key))
        if (found !== undefined) entries.push(...(await this.#rowsOf(found, undefined)))
        entries.push({ key, value: undefined })
      }
      await this.#view.write(entries)
      await letOthersRun()
    }
    if (stopping.aborted) return
    const now = this.#parts.clock.now()
    if (emptiedAt === undefined) await this.#view.write([{ key: voidKey(role), value: { emptiedAt: now } }])
    else if (emptiedAt + voidMs < now) await this.#view.write([{ key: voidKey(role), value: undefined }])
  }

  /** The deletion of a secret id as it was read. */
  async #removal(found: FoundSecretId): Promise<ViewEntry[]> {
    const own: ViewEntry = { key: keyOf(found), value: undefined, expect: found.revision }
    return [own, ...(await this.#rowsOf(found, undefined))]
  }

  /** The rows that belong to a secret id; `secretId` is undefined to delete them. */
  async #rowsOf(
    { role, hash, secretId: { accessor, ends } }: Omit<FoundSecretId, 'revision'>,
    secretId: SecretId | undefined,
  ): Promise<ViewEntry[]> {
    const isThere = secretId !== undefined
    const hashed = await this.#hashOf(accessor)
    return [
      { key: accessorKey(hashed), value: isThere ? { role, hash } : undefined },
      { key: listedKey(role, hashed), value: isThere ? { accessor, ends } : undefined },
      ...(ends === undefined ? [] : [{ key: endKey(ends, role, hash), value: isThere ? 1 : undefined }]),
    ]
  }

  async #read(key: string): Promise<FoundSecretId | undefined> {
    const record = await this.#view.read(key)
    return record === undefined ? undefined : found(record)
  }

  #isOver({ ends }: { readonly ends?: number | undefined }): boolean {
    return ends !== undefined && ends <= this.#parts.clock.now()
  }

  async #hashOf(accessor: string): Promise<string> {
    return (await this.#parts.hashOfAccessor())(accessor, 'base64url')
  }
}

/** The key is one of `secretIdKey`. */
function found({ key, value, revision }: ViewRecord): FoundSecretId {
  const [, role = '', hash = ''] = key.split('/')
  return { secretId: readSecretId(value), role, hash, revision }
}

/** A row of a list. There may be a million of them: a schema would take most of the time of a list. */
function readListed(stored: unknown): { readonly accessor: string; readonly ends: number | undefined } {
  const { accessor, ends } = stored as { accessor?: unknown; ends?: unknown }
  if (typeof accessor !== 'string') throw new Error('a stored accessor is not a text')
  return { accessor, ends: typeof ends === 'number' ? ends : undefined }
}

const keyOf = ({ role, hash }: FoundSecretId): string => secretIdKey(role, hash)

/** The refusal of a call below a role that is not there. */
export const goneText = (name: string): string => `role "${name}" does not exist`

const alreadyRegistered = () => refuse('invalid', 'failed to store secret_id: SecretID is already registered')
