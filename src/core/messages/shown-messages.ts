import { createHash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { stringifyJson } from '../../lib/json.ts'
import { formatInstant } from '../../lib/time.ts'
import type { Namespace } from '../namespaces/namespace.ts'
import type { NamespaceStore } from '../namespaces/namespace-store.ts'
import { WeightedCache } from '../policies/weighted-cache.ts'
import { isFor, type Viewer } from './audience.ts'
import { type Audience, type Instant, instantOf, type Message } from './message.ts'
import type { MessageStore } from './message-store.ts'
import { shownEntry } from './message-view.ts'
import { isActive, nextChange } from './window.ts'

/** What one of the two endpoints shows a caller. */
export type Shown = {
  /** `data`, as JSON text. */
  readonly text: string
  /** Strong entity tag of that text. */
  readonly etag: string
  /** RFC 3339: the earliest start or end to come among the messages this caller may see; undefined: none. */
  readonly nextChange: string | undefined
  /** When something else may be shown though nothing was written, in milliseconds since the epoch. */
  readonly changesAtMs: number
}

export type ShownMessagesParts = {
  readonly messages: Pick<MessageStore, 'listOf' | 'version'>
  readonly namespaces: Pick<NamespaceStore, 'lineOf'>
  readonly clock: Clock
}

/** A message that is shown now or may be later. `text` is its member of `key_info`. */
type Candidate = Pick<Message, 'id' | 'start' | 'end'> & {
  readonly text: string
  readonly audience: Audience | undefined
  /** Ids of its namespace and those above. */
  readonly line: readonly string[]
}

/**
 * What a namespace shows, written out. It holds as long as nothing is written in `line` and the clock stays
 * within.
 */
type Plan = {
  /** Ids of the namespace and those above. */
  readonly line: readonly string[]
  readonly versions: readonly number[]
  readonly madeAtMs: number
  readonly endsAtMs: number
  /** What every caller sees, when it is the same for all; else the messages to choose from. */
  readonly forAll: Shown | undefined
  readonly candidates: readonly Candidate[]
  /** By who is addressed: for each message with an audience, whether the caller is in it. */
  readonly byHits: Map<string, Shown>
  /** How many of those are kept. */
  readonly mostAnswers: number
}

/**
 * Characters of all texts kept, for each of the two endpoints. What is longer by itself is kept alone: each
 * reader would need a copy of his own.
 */
const maxKeptText = 16 * 1024 * 1024
/**
 * Different answers kept of one namespace whose messages have audiences; at least one, fewer than this where
 * they are long.
 */
const maxKeptAnswers = 8

const nanosecondsPerMs = 1_000_000n

/**
 * What front ends are shown in a namespace: active messages of its own and of all above.
 * docs/contract/messages.md#front-ends
 */
export class ShownMessages {
  readonly #parts: ShownMessagesParts
  readonly #before = new WeightedCache<Plan>(maxKeptText)
  readonly #after = new WeightedCache<Plan>(maxKeptText)

  constructor(parts: ShownMessagesParts) {
    this.#parts = parts
  }

  /** What everyone sees who has not logged in. A promise only when it is not written out already. */
  beforeLogin(namespace: Namespace): Shown | Promise<Shown> {
    return this.readyBeforeLogin(namespace) ?? this.#fresh(this.#before, namespace).then(forEveryone)
  }

  /** The same where it is written out already. */
  readyBeforeLogin(namespace: Namespace): Shown | undefined {
    const plan = this.#kept(this.#before, namespace)
    return plan && forEveryone(plan)
  }

  /** What a caller sees who has logged in; who that is is asked for only when a message has an audience. */
  async afterLogin(namespace: Namespace, findViewer: () => Promise<Viewer>): Promise<Shown> {
    const plan = this.#kept(this.#after, namespace) ?? (await this.#fresh(this.#after, namespace))
    if (plan.forAll !== undefined) return plan.forAll
    const viewer = await findViewer()
    const addressed = plan.candidates.filter((one) => isFor(one.audience, viewer, one.line))
    const hits = addressed.map(({ id }) => id).join(' ')
    const shown = plan.byHits.get(hits) ?? writtenOut(addressed, instantOf(plan.madeAtMs))
    if (plan.byHits.size < plan.mostAnswers) plan.byHits.set(hits, shown)
    return shown
  }

  /**
   * The namespace of a message that this caller sees after login; undefined when there is no such message.
   */
  async ownerOf(namespace: Namespace, id: string, viewer: Viewer): Promise<string | undefined> {
    const now = instantOf(this.#parts.clock.now())
    const line = this.#lineOf(namespace)
    for (const [index, owner] of line.entries()) {
      const message = (await this.#parts.messages.listOf(owner)).find((one) => one.id === id)
      if (message === undefined) continue
      const isSeen =
        message.authenticated && isActive(message, now) && isFor(message.audience, viewer, line.slice(index))
      return isSeen ? owner : undefined
    }
    return undefined
  }

  #kept(cache: WeightedCache<Plan>, namespace: Namespace): Plan | undefined {
    const known = cache.peek(namespace.id)
    return known !== undefined && this.#holds(known) ? known : undefined
  }

  #holds({ line, versions, madeAtMs, endsAtMs }: Plan): boolean {
    const now = this.#parts.clock.now()
    return (
      now >= madeAtMs &&
      now < endsAtMs &&
      line.every((id, index) => this.#parts.messages.version(id) === versions[index])
    )
  }

  async #fresh(cache: WeightedCache<Plan>, namespace: Namespace): Promise<Plan> {
    const { messages, clock } = this.#parts
    const line = this.#lineOf(namespace)
    // asked for before the lists are: a change in between makes the plan end early, never late
    const versions = line.map((id) => messages.version(id))
    const lists = await Promise.all(line.map((id) => messages.listOf(id)))
    const meanwhile = this.#kept(cache, namespace)
    if (meanwhile !== undefined) return meanwhile
    const madeAtMs = clock.now()
    const candidates = candidatesOf(lists, line, {
      now: instantOf(madeAtMs),
      authenticated: cache === this.#after,
    })
    const isForAll = candidates.every(({ audience }) => audience === undefined)
    const texts = candidates.reduce((sum, { text }) => sum + text.length, 200)
    const mostAnswers = isForAll
      ? 0
      : Math.max(1, Math.min(maxKeptAnswers, Math.floor(maxKeptText / texts) - 1))
    const plan: Plan = {
      line,
      versions,
      madeAtMs,
      endsAtMs: endOf(nextChange(candidates, instantOf(madeAtMs))),
      forAll: isForAll ? writtenOut(candidates, instantOf(madeAtMs)) : undefined,
      candidates: isForAll ? [] : candidates,
      byHits: new Map(),
      mostAnswers,
    }
    cache.set(namespace.id, {
      value: plan,
      weight: Math.min(maxKeptText, texts * (1 + mostAnswers)),
      expiresAt: plan.endsAtMs,
    })
    return plan
  }

  /** The namespace first, the root last: the order in which messages are shown. */
  #lineOf(namespace: Namespace): string[] {
    return this.#parts.namespaces
      .lineOf(namespace)
      .map(({ id }) => id)
      .reverse()
  }
}

/** Nobody who has not logged in is in an audience. */
const forEveryone = ({ forAll }: Plan): Shown => forAll ?? nothingShown

/** The first millisecond in which a change has come; a clock that shows it exactly is looked at again. */
const endOf = (change: Instant | undefined): number =>
  change === undefined
    ? Number.POSITIVE_INFINITY
    : Number((change + nanosecondsPerMs - 1n) / nanosecondsPerMs)

/** All that is not over, in the order of the endpoints. docs/contract/messages.md#namespaces */
function candidatesOf(
  lists: readonly (readonly Message[])[],
  line: readonly string[],
  { now, authenticated }: { now: Instant; authenticated: boolean },
): Candidate[] {
  return lists.flatMap((messages, index) =>
    messages
      .filter(
        (message) =>
          message.authenticated === authenticated && (message.end === undefined || message.end > now),
      )
      .toSorted((a, b) => (b.priority ?? 0) - (a.priority ?? 0))
      .map((message) => ({
        ...{
          id: message.id,
          start: message.start,
          end: message.end,
          audience: message.audience,
          line: line.slice(index),
        },
        text: isActive(message, now)
          ? `${JSON.stringify(message.id)}:${stringifyJson(shownEntry(message))}`
          : '',
      })),
  )
}

function writtenOut(candidates: readonly Candidate[], now: Instant): Shown {
  const active = candidates.filter((one) => isActive(one, now))
  const change = nextChange(candidates, now)
  if (active.length === 0) return shownOf('{}', change)
  const keys = JSON.stringify(active.map(({ id }) => id))
  return shownOf(`{"keys":${keys},"key_info":{${active.map(({ text }) => text).join(',')}}}`, change)
}

function shownOf(text: string, change: Instant | undefined): Shown {
  return {
    text,
    etag: `"${createHash('sha256').update(text).digest('base64url')}"`,
    nextChange: change === undefined ? undefined : formatInstant(change),
    changesAtMs: endOf(change),
  }
}

/** What is shown where no message is. docs/contract/messages.md#front-ends */
export const nothingShown: Shown = shownOf('{}', undefined)
