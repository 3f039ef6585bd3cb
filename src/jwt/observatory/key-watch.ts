import { hash } from 'node:crypto'
import { z } from 'zod'
import { keep, type View } from '../../core/barrier/view.ts'
import { recordReader } from '../../core/records/stored-record.ts'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { redactUrl } from '../../logins/refusals/redact.ts'
import type { UsableKey } from '../keys/jwk-set.ts'
import type { Keyset, KeysetSource } from '../keys/keyset.ts'
import { thumbprintOf } from '../keys/thumbprint.ts'
import { keyFacts } from './key-facts.ts'
import {
  type KeyAlert,
  type KeyLogins,
  nothingSeen,
  type Observation,
  observed,
  type SeenDocument,
  type SeenKey,
  type Timeline,
} from './timeline.ts'

export type KeyWatchParts = {
  /** The mount's own; numbers are plain. */
  readonly view: View
  readonly clock: Clock
  /** Called once for each alert, by the server that has raised it. */
  onAlert(alert: KeyAlert, url: string): void
}

/** Sources of a mount that are observed, and logins by keys that wait to be recorded. */
const mostSources = 50
const mostWaiting = 1000
/** Most characters of what a source says. */
const mostText = 512
const longestKeyId = 256

const prefix = 'key-sources/'
const readTimeline = recordReader<Timeline>(
  'key timeline',
  z.object({ observedAt: z.number(), keys: z.array(z.object({})), alerts: z.array(z.object({})) }),
)

/** Observations of a keyset. */
type Sources = Pick<Keyset, 'sources'>

type Waiting = { readonly source: string; readonly key: SeenKey; readonly first: number; last: number }

/**
 * What the key sources of one mount have published, and which keys logins used. Each server notes logins in memory and
 * records what is new about once a minute; the records are shared. docs/contract/key-sources.md
 */
export class KeyWatch {
  readonly #parts: KeyWatchParts
  readonly #mutex = new KeyedMutex()
  readonly #waiting = new Map<string, Waiting>()
  /** What this server has read or written last, by source. */
  #known = new Map<string, Timeline>()
  /** By source, which fetches were recorded. */
  readonly #fetches = new Map<string, string>()
  #recorded: Sources | undefined

  constructor(parts: KeyWatchParts) {
    this.#parts = parts
  }

  /** A login by a token that the key with this thumbprint has signed. */
  noteLogin(thumbprint: string, keyset: Sources): void {
    const now = this.#parts.clock.now()
    const waiting = this.#waiting.get(thumbprint)
    if (waiting !== undefined) {
      waiting.last = now
      return
    }
    const hasIt = ({ key }: UsableKey) => thumbprintOf(key) === thumbprint
    const source = keyset.sources().find(({ keys }) => keys.some(hasIt))
    const found = source?.keys.find(hasIt)
    if (source === undefined || found === undefined || this.#waiting.size >= mostWaiting) return
    this.#waiting.set(thumbprint, { source: idOf(source), key: seenKey(found), first: now, last: now })
  }

  /** Writes what is new. `written`: when the configuration was, in milliseconds since the epoch. */
  record(keyset: Sources, written: number): Promise<void> {
    return this.#mutex.runExclusive('', () => this.#record(keyset, written))
  }

  async #record(keyset: Sources, written: number): Promise<void> {
    const sources = observedSources(keyset)
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    try {
      for (const [id, source] of sources) {
        const logins = waiting.filter((login) => login.source === id)
        const fetches = `${source.kind === 'static' ? written : source.keysFetchedAt} ${source.document?.at}`
        if (logins.length === 0 && this.#recorded === keyset && this.#fetches.get(id) === fetches) continue
        this.#fetches.set(id, fetches)
        await this.#recordSource(
          id,
          source,
          observationOf(source, written || this.#parts.clock.now(), logins),
        )
      }
    } catch (error) {
      this.#fetches.clear()
      for (const login of waiting) this.#putBack(login)
      throw error
    }
    if (this.#recorded !== keyset) await this.#dropOthers(sources)
    this.#recorded = keyset
  }

  #putBack({ key, ...login }: Waiting): void {
    const { thumbprint } = key
    const since = this.#waiting.get(thumbprint)
    this.#waiting.set(thumbprint, { ...login, key, last: since?.last ?? login.last })
  }

  async #recordSource(id: string, source: KeysetSource, observation: Observation): Promise<void> {
    const known = this.#known.get(id)
    if (known !== undefined && observed(known, observation) === known) return
    let raised: readonly KeyAlert[] = []
    let after: Timeline = nothingSeen
    await this.#parts.view.update(prefix + id, (stored) => {
      const before = stored === undefined ? nothingSeen : readTimeline(stored)
      after = observed(before, observation)
      raised = after.alerts.filter((alert) => !before.alerts.includes(alert))
      return after === before ? keep : after
    })
    this.#known.set(id, after)
    for (const alert of raised) this.#parts.onAlert(alert, redactUrl(source.url))
  }

  /** A source is kept as long as the configuration names it. */
  async #dropOthers(sources: ReadonlyMap<string, KeysetSource>): Promise<void> {
    const { view } = this.#parts
    for (const id of this.#fetches.keys()) if (!sources.has(id)) this.#fetches.delete(id)
    this.#known = new Map([...this.#known].filter(([id]) => sources.has(id)))
    for await (const page of view.keyPages(prefix)) {
      const gone = page.filter((key) => !sources.has(key.slice(prefix.length)))
      if (gone.length > 0) await view.write(gone.map((key) => ({ key, value: undefined })))
    }
  }

  /** The sources with their stored records. */
  async timelines(
    keyset: Sources,
  ): Promise<readonly { readonly source: KeysetSource; readonly timeline: Timeline }[]> {
    const { view } = this.#parts
    return Promise.all(
      [...observedSources(keyset)].map(async ([id, source]) => {
        const stored = await view.get(prefix + id)
        return { source, timeline: stored === undefined ? nothingSeen : readTimeline(stored) }
      }),
    )
  }
}

const idOf = ({ kind, url }: KeysetSource): string => hash('sha256', `${kind} ${url}`, 'hex').slice(0, 32)

/** The first sources of a keyset; of two with one URL, the first. */
export function observedSources(keyset: Sources): Map<string, KeysetSource> {
  const found = new Map<string, KeysetSource>()
  for (const source of keyset.sources()) {
    const id = idOf(source)
    if (!found.has(id) && found.size < mostSources) found.set(id, source)
  }
  return found
}

function observationOf(source: KeysetSource, written: number, logins: readonly KeyLogins[]): Observation {
  const { kind, keys, keysFetchedAt, document } = source
  const at = kind === 'static' ? written : keysFetchedAt
  return {
    set: at === undefined ? undefined : { at, keys: keys.map(seenKey) },
    document: document && { at: document.at, seen: seenDocument(source, document) },
    logins,
  }
}

const seenKey = (usable: UsableKey): SeenKey => ({
  thumbprint: thumbprintOf(usable.key),
  kid: usable.id.slice(0, longestKeyId),
  ...keyFacts(usable),
})

/** Without the addresses' passwords. */
function seenDocument(
  { url }: KeysetSource,
  { value, issuer }: NonNullable<KeysetSource['document']>,
): SeenDocument {
  const texts = Object.entries({ issuer: issuer ?? url, ...value })
  const shown = texts.map(([name, text]) => [name, redactUrl(text).slice(0, mostText)] as const)
  return Object.fromEntries(shown) as SeenDocument
}
