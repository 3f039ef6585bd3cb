import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { stringifyJson } from '../../lib/text/json.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../records/keyed-hash.ts'
import { ifReadable } from '../records/stored-record.ts'
import type { Token } from '../tokens/store/token.ts'
import { type Author, type ChangeRow, type KeptChange, readChange, readKeptChange } from './change-row.ts'

/** How much is kept. docs/contract/history.md#bounds */
export type HistoryBounds = {
  /** The most changes of one object; 0: none are kept. */
  readonly versions: number
  readonly days: number
}

type HistoryParts = {
  /** The core's. */
  readonly view: View
  readonly clock: Clock
  readonly bounds: HistoryBounds
  /** Whether a copy in memory may be older than the last write of another server. */
  confirmCopies(): Promise<void>
}

/** What tells an object from all others, also once its mount has moved. */
export type HistoryObject = Pick<ChangeRow, 'owner' | 'object'>

/** A change that is about to be written. */
export type NewChange = Omit<ChangeRow, 'version' | 'at' | 'order'> & { readonly form: object | undefined }

/** The most characters of the kept changes of one object, of which one may have more. */
const mostCharacters = 1024 * 1024
/** The most deleted objects of a namespace. */
const mostDeleted = 500
/** Each may have up to a megabyte. */
const formsAtOnce = 20
const dayMs = 86_400_000
const lastTime = 9_999_999_999_999
const mostOrder = 9_999_999_999

/** Earlier forms of configuration objects, and who changed them. docs/contract/history.md */
export class HistoryStore {
  readonly #parts: HistoryParts
  readonly #view: View
  readonly #hashes: Hashes
  #last: Moment = { at: 0, order: 0 }

  private constructor(parts: HistoryParts, hashes: Hashes) {
    this.#parts = parts
    // nothing of it is copied
    this.#view = parts.view.view('history/', { numbers: 'plain', isUncopied: true })
    this.#hashes = hashes
  }

  static async open(parts: HistoryParts & { readonly random: Random }): Promise<HistoryStore> {
    const { view, random } = parts
    return new HistoryStore(
      parts,
      await openKeyedHashes(view, random, 'history-keys', ['accessor', 'object']),
    )
  }

  get isOn(): boolean {
    return this.#parts.bounds.versions > 0
  }

  /** After this, reads of a record see every acknowledged write. */
  confirmCopies(): Promise<void> {
    return this.#parts.confirmCopies()
  }

  authorOf(token: Token): Author {
    const { accessor, entity_id, display_name } = token
    return {
      entity_id,
      display_name,
      token_accessor_hash: accessor === '' ? '' : this.#hashes.accessor(accessor, 'hex').slice(0, 32),
    }
  }

  /** The entries that keep a change, for the commit that makes it. Keys are those of the storage. */
  async entriesFor({ form, ...change }: NewChange): Promise<ViewEntry[]> {
    const digest = this.#digestOf(change)
    const kept = await this.#storedOf(folderOf(change, digest))
    const last = kept.at(-1)
    if (change.operation === 'delete' && (form === undefined || last?.operation === 'delete')) return []
    const row: ChangeRow = { ...change, version: (last?.version ?? 0) + 1, ...this.#moment(last) }
    const text = form === undefined ? null : stringifyJson(form)
    const dropped = this.#beyond(kept, text?.length ?? 0)
    const keys = this.#keysOf(row, digest)
    const isDeletion = row.operation === 'delete'
    const isBack = last?.operation === 'delete' && !dropped.includes(last)
    return [
      ...dropped.flatMap((old) => this.#removalOf(old)),
      ...(isBack ? [{ key: this.#keysOf(last).deleted, value: undefined }] : []),
      { key: keys.change, value: { ...row, form: text } },
      { key: keys.log, value: row },
      ...(isDeletion ? [{ key: keys.deleted, value: row }] : []),
    ].map((entry) => this.#view.fromRoot(entry))
  }

  /** The kept changes of an object, the oldest first. */
  async changesOf(object: HistoryObject): Promise<readonly KeptChange[]> {
    const since = this.#oldest()
    return (await this.#storedOf(this.#folderOf(object))).filter(({ at }) => at >= since)
  }

  /** The changes in a namespace, the latest first, in pages, with the key of each. */
  async *log(namespace: string, after?: string): AsyncGenerator<readonly LoggedChange[], void, undefined> {
    const since = this.#oldest()
    const folder = logFolder(namespace)
    for await (const keys of this.#view.keyPages(folder, after === undefined ? undefined : folder + after)) {
      const rows = await this.#read(keys, readChange)
      yield rows
        .map(({ key, row }) => ({ key: key.slice(folder.length), change: row }))
        .filter(({ change }) => change.at >= since)
    }
  }

  /** The deleted objects of a namespace, the latest first. */
  async deletedIn(namespace: string): Promise<readonly ChangeRow[]> {
    const since = this.#oldest()
    const keys = await this.#view.listKeys(deletedFolder(namespace))
    return (await this.#read(keys, readChange)).map(({ row }) => row).filter(({ at }) => at >= since)
  }

  /** Forgets the deleted objects of a namespace that are too many. */
  async trimDeleted(namespace: string): Promise<void> {
    const keys = (await this.#view.listKeys(deletedFolder(namespace))).slice(mostDeleted)
    for (const { row } of await this.#read(keys, readChange))
      await this.#removeAll(await this.#view.listKeys(this.#folderOf(row)))
    await this.#removeAll(keys)
  }

  /** Removes changes that are older than the bounds allow. */
  async sweep(namespaces: readonly string[], stopping: AbortSignal): Promise<void> {
    for (const namespace of namespaces) {
      const folder = logFolder(namespace)
      for await (const keys of this.#view.keyPages(folder, folder + timeKey(this.#oldest()))) {
        if (stopping.aborted) return
        await this.#removeAll(keys)
      }
    }
  }

  /** Removes the history of what a mount served, or of a mount. */
  async removeOwner(owner: string): Promise<void> {
    for (;;) {
      const keys = await this.#view.listKeys(`change/${owner}/`, { limit: formsAtOnce })
      if (keys.length === 0) return
      await this.#removeAll(keys)
    }
  }

  /** Removes the log of a namespace. */
  async removeNamespace(namespace: string): Promise<void> {
    for await (const keys of this.#view.keyPages(logFolder(namespace))) await this.#removeAll(keys)
    await this.#view.deletePrefix(deletedFolder(namespace))
  }

  /** Hides the names of objects, which may be long, from readers of the storage. */
  #digestOf({ owner, object }: HistoryObject): string {
    return this.#hashes.object(`${owner}/${object}`, 'hex').slice(0, 40)
  }

  #folderOf(object: HistoryObject): string {
    return folderOf(object, this.#digestOf(object))
  }

  /** The keys of a change: in the history of its object, in the log, and among the deleted objects. */
  #keysOf(
    row: ChangeRow,
    digest = this.#digestOf(row),
  ): { readonly change: string; readonly log: string; readonly deleted: string } {
    const place = `${timeKey(row.at)}-${countKey(mostOrder - row.order)}-${digest}`
    return {
      change: folderOf(row, digest) + countKey(row.version),
      log: logFolder(row.namespace) + place,
      deleted: deletedFolder(row.namespace) + place,
    }
  }

  /** Removes these records, and what else there is of the changes that they are about. */
  async #removeAll(keys: readonly string[]): Promise<void> {
    const known = await this.#read(keys, readChange)
    const gone = new Set([...keys, ...known.flatMap(({ row }) => this.#removalOf(row).map(({ key }) => key))])
    await this.#view.write([...gone].map((key) => ({ key, value: undefined })))
  }

  #removalOf(row: ChangeRow): ViewEntry[] {
    const { change, log, deleted } = this.#keysOf(row)
    const keys = row.operation === 'delete' ? [change, log, deleted] : [change, log]
    return keys.map((key) => ({ key, value: undefined }))
  }

  async #storedOf(folder: string): Promise<readonly KeptChange[]> {
    return (await this.#read(await this.#view.listKeys(folder), readKeptChange)).map(({ row }) => row)
  }

  /** Those that can be read: a damaged one must not keep the object from being changed or removed. */
  async #read<Row>(
    keys: readonly string[],
    read: (value: unknown) => Row,
  ): Promise<{ key: string; row: Row }[]> {
    const rows = await Promise.all(
      keys.map((key) =>
        ifReadable(
          this.#view.get(key).then((value) => (value === undefined ? undefined : { key, row: read(value) })),
        ),
      ),
    )
    return rows.filter((row) => row !== undefined)
  }

  /** Which of the kept changes a further one pushes out. */
  #beyond(kept: readonly KeptChange[], characters: number): readonly KeptChange[] {
    let most = mostCharacters - characters
    const room = kept.slice(Math.max(0, kept.length - this.#parts.bounds.versions + 1))
    const stays = room.findLastIndex(({ form }) => {
      most -= form?.length ?? 0
      return most < 0
    })
    return kept.slice(0, kept.length - room.length + stays + 1)
  }

  /**
   * The present moment. No two changes by this server have the same one, and it is not before the last change of the object,
   * which a server whose clock is a little ahead may have made.
   */
  #moment(last: Moment | undefined): Moment {
    const now = this.#parts.clock.now()
    const at = last !== undefined && last.at - now < mostAheadMs ? Math.max(now, last.at) : now
    const order = Math.max(...[this.#last, last].map((one) => (one?.at === at ? one.order + 1 : 0)))
    this.#last = { at, order }
    return this.#last
  }

  #oldest(): number {
    return this.#parts.clock.now() - this.#parts.bounds.days * dayMs
  }
}

type Hashes = { readonly accessor: KeyedHash; readonly object: KeyedHash }

export type LoggedChange = { readonly key: string; readonly change: ChangeRow }

type Moment = Pick<ChangeRow, 'at' | 'order'>

/** How far apart the clocks of two servers may be. */
const mostAheadMs = 1_000

/** Sorts later times first. */
const timeKey = (at: number): string => String(lastTime - at).padStart(13, '0')

const countKey = (count: number): string => String(count).padStart(10, '0')

const folderOf = ({ owner }: HistoryObject, digest: string): string => `change/${owner}/${digest}/`
const logFolder = (namespace: string): string => `log/${namespace}/`
const deletedFolder = (namespace: string): string => `deleted/${namespace}/`
