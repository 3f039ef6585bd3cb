import { z } from 'zod'
import type { Core } from '../../../core/open/core.ts'
import { waitField, waitMsOf } from '../../../core/servers/waits.ts'
import { refuse } from '../../../errors.ts'
import {
  checkMayReach,
  type Exchange,
  type Reply,
  type Resource,
  resource,
} from '../../../http/resource/resource.ts'
import { namesTag } from '../../../lib/net/entity-tag.ts'
import { intField, mapField } from '../../../lib/text/fields.ts'
import { isJsonObject, type JsonObject, parseLossless } from '../../../lib/text/json.ts'
import { mergePatched } from '../../../lib/text/merge-patch.ts'
import { type Head, isGone, newKeyId, type Version } from '../store/key-record.ts'
import type { StoredKey } from '../store/keys.ts'
import type { KvMounts } from '../store/kv-mounts.ts'
import { shownVersion } from '../store/metadata-changes.ts'
import { dataTextOf } from '../store/secret-data.ts'
import { checkSecretPath, isSecretPath } from '../store/secret-path.ts'
import { append, checkCas, softDelete } from '../store/version-changes.ts'
import { actorOf, checkMayGenerate, checkMayWrite, mayElsewhere, plainReadings } from './access.ts'
import { kvAnswers } from './answers.ts'
import { addGenerated, checkWishes, isSame, wishesIn } from './generated.ts'
import { type HeldParts, nextState } from './held-reads.ts'
import { emptyMissing, missing } from './missing.ts'
import { changeKey, checkIfMatch, isThere, tagOf } from './one-key.ts'
import { subkeysOf } from './subkeys.ts'

export type DataParts = HeldParts &
  Pick<Core, 'random' | 'passwordPolicies'> & { readonly kvMounts: KvMounts }

const readInput = z.object({
  version: intField.default(0).describe('Number of the version; 0 for the current one'),
})

const dataInput = readInput.extend({ wait: waitField })

const subkeysInput = readInput.extend({
  depth: intField.default(0).describe('Levels of keys to show; 0 for all'),
})

/** Clients may send the version along: a write ignores it, unless it is no number. */
const writeInput = readInput.extend({
  version: intField.optional().describe('Ignored'),
  data: mapField
    .optional()
    .describe('The fields of the secret')
    .meta({ examples: [{ username: 'shop', password: 'secret' }] }),
  options: mapField
    .optional()
    .describe(
      '`cas`: the write is refused unless the current version has this number, 0 for a new key. `generate`: fields whose values the server makes, by name: `length` and `charset`, or `policy`; `keep`',
    )
    .meta({ examples: [{ cas: 3 }] }),
})

type At<Input> = Exchange<Input, { path: string }>
type Found = { readonly stored: StoredKey; readonly number: number; readonly version: Version }

/** The data of secrets. docs/contract/kv.md#data */
export function dataResources(parts: DataParts): Resource[] {
  const { kvMounts, clock, random, passwordPolicies } = parts
  const find = async ({
    mount,
    params,
    input,
  }: At<z.output<typeof readInput>>): Promise<Found | undefined> => {
    const keys = await kvMounts.keysOf(mount)
    const stored = isSecretPath(params.path) ? await keys.find(params.path) : undefined
    if (stored === undefined) return undefined
    const number = input.version > 0 ? input.version : stored.head.current
    const version = await keys.version(stored, number)
    return version && { stored, number, version }
  }

  const written = async (
    exchange: At<z.output<typeof writeInput>>,
    operation: 'create' | 'patch',
  ): Promise<Reply> => {
    const { mount, params, input } = exchange
    const { options } = input
    const wishes = await wishesIn(options, async (policy) => {
      checkMayGenerate(exchange, policy)
      const generate = await passwordPolicies.generator(mount.namespace, policy)
      if (generate === undefined) throw refuse('invalid', 'policy of a generated field does not exist')
      return generate
    })
    const data = input.data === undefined && wishes.length > 0 ? {} : input.data
    if (data === undefined) throw refuse('invalid', 'no data provided')
    checkSecretPath(params.path)
    checkWishes(wishes, data ?? {})
    const keys = await kvMounts.keysOf(mount)
    const config = await kvMounts.of(mount).config.get()
    const text = operation === 'patch' || wishes.length > 0 ? '' : dataTextOf(data)
    const id = newKeyId(random)
    return await keys.change(params.path, {
      apply: (draft): Reply => {
        const { head } = draft
        if (operation !== 'patch') checkMayWrite(exchange, head !== undefined)
        checkIfMatch(exchange, head)
        if (operation === 'patch' && head === undefined) return emptyMissing
        checkCas(head, options, config)
        const by = actorOf(
          exchange,
          operation === 'patch' ? 'patch' : head === undefined ? 'create' : 'update',
        )
        if (text !== '') return shown(append(draft, { data: text, by, config, id }))
        const last = head?.last
        if (operation === 'patch' && last === undefined) return emptyMissing
        const isReadable = last !== undefined && !isGone(last, draft.now)
        if (operation === 'patch' && head !== undefined && last !== undefined && !isReadable)
          return missing(shownVersion(head, head.current, last))
        const before = isReadable ? objectIn(last) : undefined
        const whole: JsonObject | null =
          data === null && wishes.length === 0
            ? null
            : mergePatched(
                operation === 'patch' ? (before ?? {}) : {},
                operation === 'patch' ? (data ?? {}) : {},
              )
        if (whole !== null && operation !== 'patch') Object.assign(whole, data)
        const made = whole === null ? [] : addGenerated(whole, wishes, { before, random })
        // otherwise whoever may only write could test guesses, and learn which fields there are
        const isReader = wishes.length > 0 && mayElsewhere(exchange, 'read', `data/${params.path}`)
        const generated = isReader ? made : wishes.map(({ name }) => name)
        if (isReader && made.length === 0 && head !== undefined && whole && isSame(whole, before))
          return withNames(shown(head), generated)
        const added = shown(append(draft, { data: dataTextOf(whole), by, config, id }))
        return wishes.length > 0 ? withNames(added, generated) : added
      },
    })
  }

  const answerTo = ({ call }: At<unknown>, found: Found | undefined): Reply | undefined => {
    if (found === undefined) return undefined
    if (isGone(found.version, clock.now())) return { status: 404, dataText: dataAnswer(found, 'null') }
    const dataText = liveAnswer(found)
    return call.wrapTtl > 0 ? { dataText } : { dataText, headers: { etag: tagOf(found.stored.head) } }
  }

  const isKnown = (known: string, found: Found | undefined) =>
    found !== undefined && !isGone(found.version, clock.now()) && namesTag(known, tagOf(found.stored.head))

  const answerToWhoKnows = (
    exchange: At<unknown>,
    known: string,
    found: Found | undefined,
  ): Reply | undefined =>
    found !== undefined && isKnown(known, found)
      ? { status: 304, headers: { etag: tagOf(found.stored.head) } }
      : answerTo(exchange, found)

  /** Answers a client that knows a state of the key once there is another one, or the wait is over. */
  const held = async (
    exchange: At<z.output<typeof dataInput>>,
    known: string,
    first: Found | undefined,
  ): Promise<Reply | undefined> => {
    const changesAtMs = (found: Found | undefined) =>
      Date.parse(found?.version.deletion || '') || Number.POSITIVE_INFINITY
    const read = {
      exchange,
      changesAtMs,
      load: () => find(exchange),
      waitMs: waitMsOf(exchange.input),
      isKnown: (found: Found | undefined) => isKnown(known, found),
    }
    return answerToWhoKnows(exchange, known, await nextState(parts, read, first))
  }

  return [
    resource('/data/*path', {
      help: 'The versions of a secret. A write adds a version; a deletion hides the current one.',
      // what is sent beside `data` by mistake may well be a secret
      secretValues: { request: (member) => member !== 'options', response: (member) => member === 'data' },
      exists: (exchange) => isThere(kvMounts, exchange),
      read: {
        summary: 'Read a version of a secret',
        ...kvAnswers.data,
        input: dataInput,
        handle: async (exchange) => {
          const found = await find(exchange)
          const known = exchange.call.wrapTtl > 0 ? undefined : exchange.header('if-none-match')
          if (known === undefined) return answerTo(exchange, found)
          return exchange.input.wait > 0 && isKnown(known, found)
            ? held(exchange, known, found)
            : answerToWhoKnows(exchange, known, found)
        },
      },
      write: {
        summary: 'Write a new version of a secret',
        required: ['data'],
        ...kvAnswers.written,
        input: writeInput,
        handle: (exchange) => written(exchange, 'create'),
      },
      patch: {
        summary: 'Write a new version that merges fields into the current one',
        required: ['data'],
        ...kvAnswers.written,
        input: writeInput,
        handle: (exchange) => written(exchange, 'patch'),
      },
      delete: {
        summary: 'Delete the current version of a secret, so that it can be undeleted',
        ...kvAnswers.changed,
        handle: (exchange) =>
          changeKey(kvMounts, exchange, (draft) =>
            softDelete(draft, [draft.head?.current ?? 0], actorOf(exchange, 'delete')),
          ),
      },
    }),
    resource('/subkeys/*path', {
      help: 'The names in a secret, without any value.',
      read: {
        summary: 'Read the names of the fields of a secret',
        ...kvAnswers.subkeys,
        input: subkeysInput,
        handle: async (exchange) => {
          const { params, sent } = exchange
          const { version: named } = sent
          const fields: JsonObject = named === undefined ? {} : { version: named }
          const read = { operation: 'read', path: `data/${params.path}` } as const
          checkMayReach(exchange, { ...read, fields, readings: plainReadings })
          const found = await find(exchange)
          if (found === undefined) return undefined
          const { stored, number, version } = found
          const metadata = shownVersion(stored.head, number, version)
          if (isGone(version, clock.now())) return missing({ subkeys: null, metadata })
          const data = parseLossless(version.data ?? 'null')
          return { data: { subkeys: subkeysOf(data, exchange.input.depth), metadata } }
        },
      },
    }),
  ]
}

function shown(head: Head): Reply {
  if (head.last === undefined) throw new Error('a version was added, and there is none')
  return { data: shownVersion(head, head.current, head.last) }
}

const withNames = (reply: Reply, generated: readonly string[]): Reply => ({
  data: { ...reply.data, generated },
})

function objectIn({ data = 'null' }: Version): JsonObject | undefined {
  const value = parseLossless(data)
  return isJsonObject(value) ? value : undefined
}

/** The text of the current version is made once. */
function liveAnswer(found: Found): string {
  const { stored, number, version } = found
  if (number !== stored.head.current) return dataAnswer(found, version.data ?? 'null')
  stored.shown ??= dataAnswer(found, version.data ?? 'null')
  return stored.shown
}

const dataAnswer = ({ stored, number, version }: Found, data: string): string =>
  `{"data":${data},"metadata":${JSON.stringify(shownVersion(stored.head, number, version))}}`
