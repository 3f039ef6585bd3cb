import { z } from 'zod'
import type { Caller } from '../../core/callers/access.ts'
import { type ChangeRow, mountOfOwner } from '../../core/history/change-row.ts'
import { tunePathOf } from '../../core/mounts/mount-path.ts'
import { type SpellingParts, spellingOf } from '../../core/mounts/spellings.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { Core } from '../../core/open/core.ts'
import { refuse } from '../../errors.ts'
import { limitOf, namespaceOf, type Resource, resource } from '../../http/resource/resource.ts'
import { stringField } from '../../lib/text/fields.ts'
import { parseDuration } from '../../lib/text/go-duration.ts'
import { formatTime, parseTime, timeMilliseconds } from '../../lib/text/time.ts'

type HistoryParts = SpellingParts & Pick<Core, 'history' | 'clock'>

const usualLimit = 100
const mostLimit = 1_000
/** How many changes one request looks at: who may read few of them gets several pages. */
const mostSeen = 5_000

const paging = {
  limit: z.unknown().optional().meta({ type: 'integer', description: '100 by default, at most 1000' }),
  after: stringField.optional().describe('`next` of the page before'),
}
const logInput = z.object({
  since: stringField
    .optional()
    .describe('Only later changes: a time, or how long ago')
    .meta({ examples: ['24h', '2026-11-23T12:00:00Z'] }),
  path: stringField.optional().describe('Only objects whose path begins with this'),
  ...paging,
})
const deletedInput = z.object({
  prefix: stringField.optional().describe('Only objects whose path begins with this'),
  ...paging,
})

const text = z.string()
const logged = z.object({
  time: text,
  path: text,
  operation: z.enum(['create', 'update', 'delete']),
  version: z.int(),
  changed: z.array(text),
  by: z.object({ entity_id: text, display_name: text, token_accessor_hash: text }),
  request_id: text,
  restored: z.int().optional().describe('The version that the change brought back'),
})
const deleted = logged
  .omit({ operation: true, changed: true, restored: true })
  .extend({ restorable: z.boolean().describe('false for a mount, whose data is gone') })

const by = { entity_id: '9b1f…', display_name: 'userpass-ada', token_accessor_hash: '4c2d…' }
const example = {
  time: '2026-11-23T12:00:00Z',
  path: 'auth/jwt/role/ci',
  version: 4,
  by,
  request_id: '5f2d…',
}

/** `sys/history`: who changed what in a namespace, and what was deleted. docs/contract/history.md#the-log-of-a-namespace */
export function historyResources(parts: HistoryParts): Resource[] {
  const { history, clock } = parts
  return [
    resource('/history', {
      help: 'The changes of the configuration of this namespace, the latest first: those whose objects the caller may read.',
      read: {
        summary: 'List the changes of configuration',
        input: logInput,
        output: z.object({ changes: z.array(logged), next: text.optional() }),
        example: {
          changes: [{ ...example, operation: 'update', changed: ['bound_claims.repository', 'token_ttl'] }],
        },
        handle: async ({ call, caller, input }) => {
          const namespace = namespaceOf(call)
          const since = sinceOf(input.since, clock.now())
          const shows = shownTo(caller, namespace, input.path ?? '', parts)
          const page = new Page<object>(input)
          for await (const rows of history.log(namespace.id, page.after)) {
            for (const { key, change } of rows) {
              if (change.at < since || page.isFull(key))
                return { data: { changes: page.items, ...page.next } }
              const path = shows(change)
              if (path !== undefined) page.items.push(shown(change, path))
            }
          }
          return { data: { changes: page.items } }
        },
      },
    }),
    resource('/history/deleted', {
      help: 'The deleted objects of this namespace, the latest first: those that the caller may read. A write with `revert` brings one back.',
      read: {
        summary: 'List the deleted objects',
        input: deletedInput,
        output: z.object({ deleted: z.array(deleted), next: text.optional() }),
        example: { deleted: [{ ...example, restorable: true }] },
        handle: async ({ call, caller, input }) => {
          const namespace = namespaceOf(call)
          const shows = shownTo(caller, namespace, input.prefix ?? '', parts)
          const page = new Page<object>(input)
          for (const row of await history.deletedIn(namespace.id)) {
            const key = `${row.at}-${row.request_id}`
            if (!page.isBehind(key)) continue
            if (page.isFull(key)) break
            const path = shows(row)
            const { operation: _, changed: __, ...rest } = shown(row, path ?? '')
            if (path !== undefined)
              page.items.push({ ...rest, restorable: mountOfOwner(row.owner) === undefined })
          }
          return { data: { deleted: page.items, ...page.next } }
        },
      },
    }),
  ]
}

/** One page of items, and where the next one begins. */
class Page<Item> {
  readonly items: Item[] = []
  readonly after: string | undefined
  readonly #most: number
  #last = ''
  #seen = 0
  #isPast: boolean
  #isCut = false

  constructor({ limit, after }: { readonly limit?: unknown; readonly after?: string | undefined }) {
    const wanted = limitOf(limit as Parameters<typeof limitOf>[0])
    this.#most = Math.min(wanted > 0 ? wanted : usualLimit, mostLimit)
    this.after = after === '' ? undefined : after
    if (this.after !== undefined && !/^[\w-]{1,200}$/.test(this.after))
      throw refuse('invalid', 'after: must be the `next` of a page')
    this.#isPast = this.after === undefined
  }

  /** Whether the item is on this page or a later one. For lists that are read from their beginning. */
  isBehind(key: string): boolean {
    const wasPast = this.#isPast
    if (key === this.after) this.#isPast = true
    return wasPast
  }

  /** Whether the item with this key is on a later page. */
  isFull(key: string): boolean {
    this.#isCut = this.items.length >= this.#most || this.#seen >= mostSeen
    if (this.#isCut) return true
    this.#last = key
    this.#seen += 1
    return false
  }

  get next(): { next?: string } {
    return this.#isCut ? { next: this.#last } : {}
  }
}

function sinceOf(sent: string | undefined, now: number): number {
  if (sent === undefined || sent === '') return 0
  const parsed = parseTime(sent)
  if (!('error' in parsed) && sent.includes('T')) return timeMilliseconds(parsed.time)
  const ago = parseDuration(sent)
  if ('error' in ago)
    throw refuse('invalid', 'since: must be a time like 2026-11-23T12:00:00Z, or a duration like 24h')
  return now - ago.seconds * 1000
}

/** The path of an object that the caller may read, and that is asked for; undefined for any other. */
function shownTo(caller: Caller | undefined, namespace: Namespace, prefix: string, parts: HistoryParts) {
  return (change: ChangeRow): string | undefined => {
    const path = currentPath(change, namespace, parts)
    if (path === undefined) return undefined
    if (!path.startsWith(prefix)) return undefined
    const verdict = caller?.acl.decide({
      operation: 'read',
      path,
      canonicalize: spellingOf(path, namespace, parts),
      fields: {},
    })
    return verdict?.allowed === true && (change.sudo !== true || verdict.sudo) ? path : undefined
  }
}

/** Where the object is by now. Undefined if its mount has left the namespace. */
function currentPath(
  { mount: uuid, owner, path }: ChangeRow,
  namespace: Namespace,
  { mounts: { table } }: SpellingParts,
): string | undefined {
  const mount = table.byUuid(uuid)
  if (mount === undefined || mount.namespace !== namespace.id) return undefined
  const own = table.byUuid(mountOfOwner(owner) ?? '')
  if (own === undefined) return mount.path + path
  return own.namespace === namespace.id ? mount.path + tunePathOf(own) : undefined
}

const shown = ({ at, operation, version, changed, by, request_id, restored }: ChangeRow, path: string) => ({
  time: formatTime(at),
  path,
  operation,
  version,
  changed,
  by,
  request_id,
  ...(restored === undefined ? {} : { restored }),
})
