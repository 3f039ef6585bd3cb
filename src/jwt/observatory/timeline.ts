import type { DiscoveryDocument } from '../keys/discovery.ts'

/** A key as its source publishes it. */
export type SeenKey = {
  readonly thumbprint: string
  /** "" if the source does not say. */
  readonly kid: string
  readonly type: string
  /** The algorithms that it may verify. */
  readonly algorithms: readonly string[]
  /** In bits. */
  readonly size: number
}

/** Times are milliseconds since the epoch. */
export type TimelineKey = SeenKey & {
  readonly firstSeen: number
  readonly lastSeen: number
  /** Since when the source has it no more. */
  readonly goneAt?: number | undefined
  readonly firstLogin?: number | undefined
  readonly lastLogin?: number | undefined
}

/** Stable words. docs/contract/key-sources.md#alerts */
export const alertKinds = ['used_after_removal', 'unusual_key', 'single_key', 'document_changed'] as const
export type AlertKind = (typeof alertKinds)[number]
export type KeyAlert = { readonly time: number; readonly kind: AlertKind; readonly text: string }

/** The endpoints of a discovery document, and its issuer if it is not the configured one. */
export type SeenDocument = Partial<DiscoveryDocument> & { readonly issuer: string }

/** The stored record of a source. docs/contract/key-sources.md#what-is-kept */
export type Timeline = {
  /** When the set of keys was fetched that `keys` tells of. */
  readonly observedAt: number
  readonly keys: readonly TimelineKey[]
  /** When keys appeared, of the last times that some did. */
  readonly arrivals: readonly number[]
  readonly document?: { readonly at: number; readonly seen: SeenDocument } | undefined
  /** Newest last. */
  readonly alerts: readonly KeyAlert[]
}

/** Logins by a key since they were last recorded. */
export type KeyLogins = { readonly key: SeenKey; readonly first: number; readonly last: number }

/** What one server has seen of a source. */
export type Observation = {
  /** The last set that it fetched; undefined if it has fetched none. */
  readonly set: { readonly at: number; readonly keys: readonly SeenKey[] } | undefined
  readonly document: { readonly at: number; readonly seen: SeenDocument } | undefined
  readonly logins: readonly KeyLogins[]
}

export const hourMs = 3_600_000
const mostKeys = 100
/** Of those that are there, so that a source with many keys does not push out those that are gone. */
const mostPresent = 60
const mostAlerts = 50
const mostArrivals = 10
/** So many intervals between arrivals must be known before one is unusual. */
const leastIntervals = 2
/** Thumbprints in the text of an alert. */
const mostNamed = 3

export const nothingSeen: Timeline = { observedAt: 0, keys: [], arrivals: [], alerts: [] }

/**
 * The timeline after an observation; the same object if nothing has changed that is worth a write. Times of keys that stay
 * and of logins by known keys are no older than an hour. An observation of an older set than the known one, by a server
 * that has not fetched since, says nothing about which keys are there.
 */
export function observed(before: Timeline, { set, document, logins }: Observation): Timeline {
  const isNewer = set !== undefined && set.at > before.observedAt
  const withSet = isNewer ? withKeys(before, set.at, set.keys) : before
  const withLogins = logins.reduce(withLogin, withSet)
  return document === undefined ? withLogins : withDocument(withLogins, document)
}

const named = (keys: readonly SeenKey[]): string =>
  keys
    .slice(0, mostNamed)
    .map(({ thumbprint }) => thumbprint)
    .join(' ') + (keys.length > mostNamed ? ` and ${keys.length - mostNamed} more` : '')

function withKeys(before: Timeline, at: number, published: readonly SeenKey[]): Timeline {
  const isFirst = before.observedAt === 0
  const there = new Map(published.map((key) => [key.thumbprint, key]))
  const known = new Set(before.keys.map(({ thumbprint }) => thumbprint))
  const present = before.keys.filter(({ goneAt }) => goneAt === undefined)
  const stay = before.keys.filter(({ thumbprint }) => there.has(thumbprint))
  const unseen = [...there.values()].filter(({ thumbprint }) => !known.has(thumbprint))
  const arrived = unseen.slice(0, Math.max(0, mostPresent - stay.length))
  const isSame =
    arrived.length === 0 && stay.length === present.length && present.every((key) => stay.includes(key))
  if (isSame && !isFirst && at - before.observedAt < hourMs) return before
  const keys = [
    ...before.keys.map((key): TimelineKey => {
      if (there.has(key.thumbprint))
        return { ...key, ...there.get(key.thumbprint), lastSeen: at, goneAt: undefined }
      return { ...key, goneAt: key.goneAt ?? at }
    }),
    ...arrived.map((key) => ({ ...key, firstSeen: at, lastSeen: at })),
  ]
  const changed = {
    ...before,
    observedAt: at,
    keys: fewEnough(keys),
    arrivals:
      isFirst || arrived.length === 0 ? before.arrivals : [...before.arrivals, at].slice(-mostArrivals),
  }
  if (isFirst) return changed
  const alerted =
    arrived.length > 0 && isUnusual(before.arrivals, at)
      ? alertOf(changed, {
          time: at,
          kind: 'unusual_key',
          text: `outside the usual rotation: ${named(arrived)}`,
        })
      : changed
  if (present.length < 2 || there.size > 1) return alerted
  const text =
    there.size === 1
      ? `of ${present.length} keys one is left: ${named([...there.values()])}`
      : `of ${present.length} keys none is left`
  return alertOf(alerted, { time: at, kind: 'single_key', text })
}

/** Sooner than half of the usual time after the last arrival. */
function isUnusual(arrivals: readonly number[], at: number): boolean {
  const intervals = arrivals.slice(1).map((time, before) => time - (arrivals[before] ?? time))
  if (intervals.length < leastIntervals) return false
  const usual = intervals.toSorted((one, other) => one - other)[intervals.length >> 1] ?? 0
  return at - (arrivals.at(-1) ?? at) < usual / 2
}

function withLogin(before: Timeline, { key, first, last }: KeyLogins): Timeline {
  const known = before.keys.find(({ thumbprint }) => thumbprint === key.thumbprint)
  const added = known ?? { ...key, firstSeen: first, lastSeen: first }
  const isQuiet = known?.lastLogin !== undefined && last - known.lastLogin < hourMs
  const noted = {
    ...added,
    firstLogin: Math.min(added.firstLogin ?? first, first),
    lastLogin: Math.max(added.lastLogin ?? last, last),
  }
  const others = before.keys.filter((one) => one !== known)
  const after = isQuiet ? before : { ...before, keys: fewEnough([...others, noted]) }
  const { goneAt } = added
  if (goneAt === undefined || last - goneAt < hourMs) return after
  const text = `a login by ${key.thumbprint}, which the source has had no more for ${Math.floor((last - goneAt) / 60_000)} minutes`
  return alertOf(after, { time: last, kind: 'used_after_removal', text })
}

function withDocument(before: Timeline, document: NonNullable<Observation['document']>): Timeline {
  const former = before.document
  if (former !== undefined && document.at <= former.at) return before
  const differs = former === undefined ? [] : differences(former.seen, document.seen)
  if (former !== undefined && differs.length === 0) return before
  const changed = { ...before, document: { ...document, seen: { ...former?.seen, ...document.seen } } }
  if (differs.length === 0) return changed
  return alertOf(changed, { time: document.at, kind: 'document_changed', text: differs.join('; ') })
}

/** Of the document of another issuer, only the issuer is known. */
function differences(former: SeenDocument, now: SeenDocument): string[] {
  const names = Object.keys({ ...former, ...now }) as (keyof SeenDocument)[]
  return names
    .filter((name) => former[name] !== undefined && now[name] !== undefined && former[name] !== now[name])
    .map((name) => `${name} was ${JSON.stringify(former[name])}, is ${JSON.stringify(now[name])}`)
}

/** One alert of a kind an hour: whoever controls a source must not fill the log. */
function alertOf(before: Timeline, alert: KeyAlert): Timeline {
  const last = before.alerts.findLast(({ kind }) => kind === alert.kind)
  if (last !== undefined && Math.abs(alert.time - last.time) < hourMs) return before
  return { ...before, alerts: [...before.alerts, alert].slice(-mostAlerts) }
}

/** The keys to keep, the most useful ones first: those that are there, then those that somebody has logged in by. */
function fewEnough(keys: readonly TimelineKey[]): readonly TimelineKey[] {
  if (keys.length <= mostKeys) return keys
  const rank = ({ goneAt, lastLogin }: TimelineKey) =>
    (goneAt === undefined ? 2 : 0) + (lastLogin === undefined ? 0 : 1)
  const ordered = keys.toSorted(
    (one, other) => rank(other) - rank(one) || (other.goneAt ?? 0) - (one.goneAt ?? 0),
  )
  return ordered.slice(0, mostKeys)
}
