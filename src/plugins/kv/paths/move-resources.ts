import { z } from 'zod'
import type { ViewEntry } from '../../../core/barrier/view.ts'
import { fail, refuse } from '../../../errors.ts'
import { type Exchange, type Reply, type Resource, resource } from '../../../http/resource/resource.ts'
import { intField, mapField, stringField } from '../../../lib/text/fields.ts'
import { type JsonObject, jsonNumber, parseLossless } from '../../../lib/text/json.ts'
import { bareEntries, earlierRows, KeyDraft } from '../store/key-draft.ts'
import { type Head, isGone, newKeyId, type Version } from '../store/key-record.ts'
import type { Keys, StoredKey } from '../store/keys.ts'
import type { KvConfig } from '../store/kv-config.ts'
import { shownVersion } from '../store/metadata-changes.ts'
import { checkSecretPath, isSecretPath } from '../store/secret-path.ts'
import { append, checkCas } from '../store/version-changes.ts'
import { actorOf, checkMayElsewhere, mayElsewhere } from './access.ts'
import { kvAnswers } from './answers.ts'
import type { DataParts } from './data-resources.ts'
import { missing } from './missing.ts'

const restoreInput = z.object({
  version: intField
    .default(0)
    .describe('Number of the version to restore')
    .meta({ examples: [2] }),
  options: mapField.optional().describe('`cas`: refused unless the current version has this number'),
})
const fromField = stringField
  .default('')
  .describe('Path of the secret')
  .meta({ examples: ['team/old'] })
const copyInput = z.object({
  from: fromField,
  versions: stringField
    .default('current')
    .describe('`current`, or `all` with their numbers, times and settings')
    .meta({ examples: ['current', 'all'] }),
})
const moveInput = z.object({ from: fromField })

function checkFrom(from: string): void {
  if (from === '') throw refuse('invalid', 'missing from')
}

/** What is left of a version that its copier may not read. */
const withoutData = ({ data, isApart, ...version }: Version): Version => ({ ...version, destroyed: true })

/** The settings of a key, as a write names them, that are not those of a new one. */
const namedSettings = (head: Head): JsonObject => ({
  ...(head.maxVersions !== 0 && { max_versions: jsonNumber(String(head.maxVersions)) }),
  ...(head.casRequired && { cas_required: true }),
  ...(head.deleteVersionAfter !== 0 && { delete_version_after: `${head.deleteVersionAfter}s` }),
  ...(head.customMetadata !== null && { custom_metadata: Object.fromEntries(head.customMetadata) }),
  ...(head.metadataCasRequired && { metadata_cas_required: true }),
})

type At<Input> = Exchange<Input, { path: string }>
type Copied = { readonly head: Head; readonly versions: ReadonlyMap<number, Version> }

/** Restores, copies and moves, each in one step in the mount. docs/contract/kv.md#restore-copy-move */
export function moveResources({ kvMounts, clock, random }: DataParts): Resource[] {
  const between = async (
    exchange: At<{ from: string }>,
    attempt: (keys: Keys, source: StoredKey, config: KvConfig) => Promise<Reply | undefined | false>,
  ): Promise<Reply | undefined> => {
    const { mount, params, input } = exchange
    checkSecretPath(params.path)
    const keys = await kvMounts.keysOf(mount)
    const config = await kvMounts.of(mount).config.get()
    return await keys.changeSeveral(async (overtaken) => {
      const isTaken = (await keys.read(params.path)) !== undefined
      checkMayElsewhere(exchange, isTaken ? 'update' : 'create', `data/${params.path}`, { data: {} })
      const source = isSecretPath(input.from) ? await keys.read(input.from) : undefined
      if (source === undefined) throw refuse('missing', '')
      if (isTaken) throw refuse('invalid', 'target exists')
      const result = await attempt(keys, source, config)
      if (result === false) throw overtaken
      return result
    })
  }

  const answerOf = ({ current, last }: Head, head: Head): Reply | undefined =>
    last && { data: shownVersion(head, current, last) }

  /**
   * Whether the caller, who may read the current one, could read this version at its source, by its number: a
   * deleted one after an undelete.
   */
  const mayCarry = (
    exchange: At<unknown>,
    { from, number, version, current }: { from: string; number: number; version: Version; current: number },
  ): boolean =>
    version.destroyed ||
    (number === current && !isGone(version, clock.now())) ||
    (mayElsewhere(exchange, 'read', `data/${from}`, { version: String(number) }) &&
      (!isGone(version, clock.now()) ||
        mayElsewhere(exchange, 'update', `undelete/${from}`, { versions: [jsonNumber(String(number))] })))

  /** The caller must be allowed to write this data at the target as well. */
  const checkMayTake = (exchange: At<unknown>, data = 'null') =>
    checkMayElsewhere(exchange, 'create', `data/${exchange.params.path}`, { data: parseLossless(data) })

  /** Settings that a new secret would not have need the right to set them. */
  const checkMaySet = (exchange: At<unknown>, head: Head) => {
    const fields = namedSettings(head)
    if (Object.keys(fields).length > 0)
      checkMayElsewhere(exchange, 'create', `metadata/${exchange.params.path}`, fields)
  }

  /** Only the data, as the first version of a new secret. */
  const copyCurrent = (exchange: At<{ from: string }>) =>
    between(exchange, async (keys, { head, revision }, config) => {
      const { from } = exchange.input
      if (head.last === undefined) throw refuse('missing', '')
      if (isGone(head.last, clock.now()))
        return missing({ data: null, metadata: shownVersion(head, head.current, head.last) })
      checkMayTake(exchange, head.last.data)
      const draft = new KeyDraft(undefined, new Map(), clock.now())
      const by = actorOf(exchange, 'copy')
      const made = append(draft, { data: head.last.data ?? 'null', by, config, id: newKeyId(random) })
      const heads = [
        { path: exchange.params.path, head: made, expect: 'absent' as const },
        { path: from, head, expect: revision },
      ]
      return (await keys.writeHeads(heads, [])) && answerOf(made, made)
    })

  /** One at a time: it holds the data of all versions. */
  const copyAll = (exchange: At<{ from: string }>) => kvMounts.large.run(() => wholeCopy(exchange))

  const wholeCopy = (exchange: At<{ from: string }>) =>
    between(exchange, async (keys, source) => {
      const { from } = exchange.input
      const whole: Copied | undefined = await keys.whole(from)
      if (whole === undefined || whole.head.changes !== source.head.changes) return false
      checkMaySet(exchange, whole.head)
      const { last, current } = whole.head
      const carried = (number: number, version: Version): Version => {
        if (!mayCarry(exchange, { from, number, version, current })) return withoutData(version)
        checkMayTake(exchange, version.data)
        return version
      }
      let made: Head = {
        ...whole.head,
        id: newKeyId(random),
        ...(last !== undefined && { last: carried(current, last) }),
      }
      const also: ViewEntry[] = []
      for (const [number, version] of whole.versions) {
        if (number === made.current) continue
        const { head, row, data } = earlierRows(made, number, carried(number, version))
        made = head
        for (const [key, value] of data === undefined ? [row] : [row, data])
          also.push({ key, value, isUncopied: true })
      }
      const heads = [
        { path: exchange.params.path, head: made, expect: 'absent' as const },
        { path: from, head: source.head, expect: source.revision },
      ]
      const written = await keys.writeHeads(heads, [...also, ...bareEntries(undefined, made)])
      return written && answerOf(made, made)
    })

  return [
    resource('/restore/*path', {
      help: 'Make an earlier version the current one, as a new version.',
      write: {
        summary: 'Restore a version',
        required: ['version'],
        ...kvAnswers.version,
        input: restoreInput,
        handle: async (exchange) => {
          const { mount, params, input } = exchange
          if (input.version <= 0) throw refuse('invalid', 'No version number provided')
          checkSecretPath(params.path)
          const number = String(input.version)
          const { options } = input
          const sentOptions: JsonObject = options === undefined ? {} : { options }
          checkMayElsewhere(exchange, 'update', `data/${params.path}`, { data: {}, ...sentOptions })
          checkMayElsewhere(exchange, 'read', `data/${params.path}`, { version: number })
          const keys = await kvMounts.keysOf(mount)
          const config = await kvMounts.of(mount).config.get()
          const id = newKeyId(random)
          return await keys.change(params.path, {
            versions: [input.version],
            readsData: true,
            apply: (draft): Reply => {
              const { head } = draft
              const version = draft.find(input.version)
              if (head === undefined || version === undefined) throw refuse('missing', '')
              checkCas(head, options, config)
              if (isGone(version, draft.now))
                return missing({ data: null, metadata: shownVersion(head, input.version, version) })
              checkMayElsewhere(exchange, 'update', `data/${params.path}`, {
                data: parseLossless(version.data ?? 'null'),
                ...sentOptions,
              })
              const by = actorOf(exchange, 'restore')
              const made = append(draft, { data: version.data ?? 'null', by, config, id })
              return { data: made.last && shownVersion(made, made.current, made.last) }
            },
          })
        },
      },
    }),
    resource('/copy/*path', {
      help: 'Copy a secret within the mount. Nobody sees its values.',
      write: {
        summary: 'Copy a secret to a path where there is none',
        required: ['from'],
        ...kvAnswers.version,
        input: copyInput,
        handle: (exchange) => {
          const { from, versions } = exchange.input
          checkFrom(from)
          checkMayElsewhere(exchange, 'read', `data/${from}`)
          if (versions !== 'current' && versions !== 'all')
            throw refuse('invalid', 'versions must be current or all')
          if (versions === 'all') checkMayElsewhere(exchange, 'read', `metadata/${from}`)
          return versions === 'all' ? copyAll(exchange) : copyCurrent(exchange)
        },
      },
    }),
    resource('/move/*path', {
      help: 'Move a secret with all its versions within the mount.',
      write: {
        summary: 'Move a secret to a path where there is none',
        required: ['from'],
        ...kvAnswers.version,
        input: moveInput,
        handle: (exchange) => {
          const { from } = exchange.input
          checkFrom(from)
          checkMayElsewhere(exchange, 'read', `data/${from}`)
          checkMayElsewhere(exchange, 'read', `metadata/${from}`)
          checkMayElsewhere(exchange, 'delete', `metadata/${from}`)
          return between(exchange, async (keys, { head, revision }) => {
            const whole = await keys.described(from, exchange)
            if (whole === undefined || whole.head.changes !== head.changes) return false
            checkMayTake(exchange, head.last?.data)
            checkMaySet(exchange, head)
            for (const [number, version] of whole.versions)
              if (!mayCarry(exchange, { from, number, version, current: head.current }))
                throw fail('denied', 'permission denied')
            const heads = [
              { path: exchange.params.path, head, expect: 'absent' as const },
              { path: from, head: undefined, expect: revision },
            ]
            return (await keys.writeHeads(heads, [])) && answerOf(head, head)
          })
        },
      },
    }),
  ]
}
