import { createHash } from 'node:crypto'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import { Cache } from '../../lib/data/cache.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { stringifyJson } from '../../lib/text/json.ts'
import { formatInstant } from '../../lib/text/time.ts'
import { instantOf, millisecondAfter, nextChange, type Window, windowAt, windowsOf } from './active-window.ts'
import { isFor, type Viewer } from './audience.ts'
import type { Lineages, Stamp } from './lineages.ts'
import type { Audience, Instant, Message } from './message.ts'
import type { MessageStore } from './message-store.ts'
import { shownEntry } from './message-view.ts'
import { lineOf } from './window-notice.ts'

/** The messages that one of the two endpoints shows a caller. */
export type Shown = {
  /** `data` as JSON. */
  readonly text: string
  readonly etag: string
  /** The earliest future start or end among the messages this caller may see, in RFC 3339. */
  readonly nextChange: string | undefined
  /** When the result may change without a write, in milliseconds since the epoch. */
  readonly changesAtMs: number
}

export type ShownMessagesParts = {
  readonly messages: Pick<MessageStore, 'listOf'>
  readonly lineages: Lineages
  readonly clock: Clock
}

/** A message that is or will be active. `text` is its member of `key_info`, or empty if it is not active yet. */
export type ShownBanner = { readonly id: string; readonly text: string }

type Banner = ShownBanner & {
  readonly audience: Audience | undefined
  /** Ids of its namespace and those above. */
  readonly lineage: readonly string[]
}

const nobody: Viewer = { policies: new Map(), entityIds: new Set(), groupIds: new Set() }

type Candidate = Pick<Message, 'id'> & {
  readonly windows: readonly Window[]
  /** If it is an active banner. */
  readonly banner: Banner | undefined
  readonly text: string
  readonly audience: Audience | undefined
  /** Ids of its namespace and those above. */
  readonly lineage: readonly string[]
}

/** The serialized messages of a namespace. */
type Snapshot = Stamp & {
  /** The result, if it is the same for every caller; otherwise it is selected from `candidates`. */
  readonly forAll: Shown | undefined
  readonly candidates: readonly Candidate[]
  /** Results by the ids of the candidates whose audience includes the caller. */
  readonly byMatches: Map<string, Shown>
  readonly maxResults: number
  /** Active banners. */
  readonly banners: readonly Banner[]
  /** In the cache: the length of all texts, but never too much to be kept. */
  readonly weight: number
}

/** Limit for the cached characters of each endpoint. A single longer text is still cached, so readers share it. */
const maxCachedText = 16 * 1024 * 1024
/** Cached results of a namespace whose messages have audiences; fewer if they are long, but at least one. */
const maxCachedResults = 8

/**
 * The messages that front ends show in a namespace: the active ones of the namespace and of all above it.
 * docs/contract/messages.md#front-ends
 */
export class ShownMessages {
  readonly #parts: ShownMessagesParts
  readonly #beforeLogin = new Cache<Snapshot>({
    name: 'messages shown before login',
    most: 10_000,
    mostWeight: maxCachedText,
    weigh: ({ weight }) => weight,
  })
  readonly #afterLogin = new Cache<Snapshot>({
    name: 'messages shown after login',
    most: 10_000,
    mostWeight: maxCachedText,
    weigh: ({ weight }) => weight,
  })

  constructor(parts: ShownMessagesParts) {
    this.#parts = parts
  }

  /** The messages before login, the same for everyone. */
  async beforeLogin(namespace: Namespace): Promise<Shown> {
    const { forAll } = await this.#snapshot(this.#beforeLogin, namespace)
    // without a login, no caller is in an audience
    return forAll ?? nothingShown
  }

  /** The messages after login. Calls `findViewer` only if a message has an audience. */
  async afterLogin(namespace: Namespace, findViewer: () => Promise<Viewer>): Promise<Shown> {
    const snapshot = await this.#snapshot(this.#afterLogin, namespace)
    if (snapshot.forAll !== undefined) return snapshot.forAll
    const viewer = await findViewer()
    const matching = snapshot.candidates.filter((one) => isFor(one.audience, viewer, one.lineage))
    const key = matching.map(({ id }) => id).join(' ')
    const shown = snapshot.byMatches.get(key) ?? serialized(matching, instantOf(snapshot.madeAtMs))
    if (snapshot.byMatches.size < snapshot.maxResults) snapshot.byMatches.set(key, shown)
    return shown
  }

  /** The first banner that this caller is shown after login, for a line of text. */
  async bannerFor(namespace: Namespace, findViewer: () => Promise<Viewer>): Promise<ShownBanner | undefined> {
    const { banners } = await this.#snapshot(this.#afterLogin, namespace)
    if (banners.length === 0) return undefined
    const viewer = banners[0]?.audience === undefined ? nobody : await findViewer()
    return banners.find((one) => isFor(one.audience, viewer, one.lineage))
  }

  /** The namespace of a message that this caller sees after login; undefined if there is no such message. */
  async ownerOf(namespace: Namespace, id: string, viewer: Viewer): Promise<string | undefined> {
    const now = instantOf(this.#parts.clock.now())
    const lineage = this.#parts.lineages.of(namespace)
    for (const [index, owner] of lineage.entries()) {
      const message = (await this.#parts.messages.listOf(owner)).find((one) => one.id === id)
      if (message === undefined) continue
      const isShown =
        message.authenticated &&
        windowAt(message, now) !== undefined &&
        isFor(message.audience, viewer, lineage.slice(index))
      return isShown ? owner : undefined
    }
    return undefined
  }

  async #snapshot(cache: Cache<Snapshot>, namespace: Namespace): Promise<Snapshot> {
    return this.#cached(cache, namespace) ?? (await this.#take(cache, namespace))
  }

  #cached(cache: Cache<Snapshot>, namespace: Namespace): Snapshot | undefined {
    const snapshot = cache.get(namespace.id)
    return snapshot !== undefined && this.#parts.lineages.isCurrent(snapshot) ? snapshot : undefined
  }

  async #take(cache: Cache<Snapshot>, namespace: Namespace): Promise<Snapshot> {
    const { messages, lineages } = this.#parts
    const stamp = lineages.stamp(namespace)
    const { lineage, madeAtMs } = stamp
    const lists = await Promise.all(lineage.map((id) => messages.listOf(id)))
    const cached = this.#cached(cache, namespace)
    if (cached !== undefined) return cached
    const candidates = candidatesOf(lists, lineage, {
      now: instantOf(madeAtMs),
      authenticated: cache === this.#afterLogin,
    })
    const isForAll = candidates.every(({ audience }) => audience === undefined)
    const texts = candidates.reduce((sum, { text }) => sum + text.length, 200)
    const maxResults = isForAll
      ? 0
      : Math.max(1, Math.min(maxCachedResults, Math.floor(maxCachedText / 2 / texts) - 1))
    const snapshot: Snapshot = {
      ...stamp,
      endsAtMs: millisecondAfter(changeOf(candidates, instantOf(madeAtMs))),
      forAll: isForAll ? serialized(candidates, instantOf(madeAtMs)) : undefined,
      candidates: isForAll ? [] : candidates,
      byMatches: new Map(),
      maxResults,
      banners: candidates.flatMap(({ banner }) => banner ?? []),
      weight: Math.min(maxCachedText / 2, texts * (1 + maxResults)),
    }
    cache.set(namespace.id, snapshot)
    return snapshot
  }
}

const changeOf = (candidates: readonly Candidate[], now: Instant): Instant | undefined =>
  nextChange(
    candidates.flatMap(({ windows }) => windows),
    now,
  )

/** The messages that have not ended, in the order they are shown. docs/contract/messages.md#namespaces */
function candidatesOf(
  lists: readonly (readonly Message[])[],
  lineage: readonly string[],
  { now, authenticated }: { now: Instant; authenticated: boolean },
): Candidate[] {
  return lists.flatMap((messages, index) =>
    messages
      .filter(
        (message) =>
          message.authenticated === authenticated && (message.end === undefined || message.end > now),
      )
      .toSorted((a, b) => (b.priority ?? 0) - (a.priority ?? 0))
      .map((message) => {
        const window = windowAt(message, now)
        const { id, audience, type } = message
        const scope = { id, audience, lineage: lineage.slice(index) }
        return {
          ...scope,
          windows: windowsOf(message, now),
          banner: window && type === 'banner' ? { ...scope, text: lineOf(message, window) } : undefined,
          text: window ? `${JSON.stringify(message.id)}:${stringifyJson(shownEntry(message, window))}` : '',
        }
      }),
  )
}

function serialized(candidates: readonly Candidate[], now: Instant): Shown {
  const active = candidates.filter(({ text }) => text !== '')
  const change = changeOf(candidates, now)
  if (active.length === 0) return shownOf('{}', change)
  const keys = JSON.stringify(active.map(({ id }) => id))
  return shownOf(`{"keys":${keys},"key_info":{${active.map(({ text }) => text).join(',')}}}`, change)
}

function shownOf(text: string, change: Instant | undefined): Shown {
  return {
    text,
    etag: `"${createHash('sha256').update(text).digest('base64url')}"`,
    nextChange: change === undefined ? undefined : formatInstant(change),
    changesAtMs: millisecondAfter(change),
  }
}

/** The result if there is no message to show. docs/contract/messages.md#front-ends */
export const nothingShown: Shown = shownOf('{}', undefined)
