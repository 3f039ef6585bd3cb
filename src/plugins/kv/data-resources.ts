import { z } from 'zod'
import type { Random } from '../../lib/random.ts'
import type { Clock } from '../../lib/clock.ts'
import { refuse } from '../../errors.ts'
import { type Exchange, type Reply, type Resource, resource } from '../../http/resource.ts'
import { intField, mapField } from '../../lib/fields.ts'
import { parseLossless } from '../../lib/json.ts'
import { checkMayWrite } from './access.ts'
import { actorOf } from './actor.ts'
import { kvAnswers } from './answers.ts'
import { newKeyId } from './key-id.ts'
import { type Head, isGone, type Version } from './key-record.ts'
import type { StoredKey } from './keys.ts'
import type { KvMounts } from './kv-mounts.ts'
import { shownVersion } from './metadata-changes.ts'
import { emptyMissing, missing } from './missing.ts'
import { dataTextOf } from './secret-data.ts'
import { checkSecretPath, isSecretPath } from './secret-path.ts'
import { subkeysOf } from './subkeys.ts'
import { append, checkCas, patchedData, softDelete } from './version-changes.ts'

export type DataParts = {
  readonly kvMounts: KvMounts
  readonly clock: Clock
  readonly random: Random
}

const readInput = z.object({
  version: intField.default(0).describe('Number of the version; 0 for the current one'),
})

const subkeysInput = readInput.extend({
  depth: intField.default(0).describe('Levels of keys to show; 0 for all'),
})

const writeInput = z.object({
  data: mapField
    .optional()
    .describe('The fields of the secret')
    .meta({ examples: [{ username: 'shop', password: 'secret' }] }),
  options: mapField
    .optional()
    .describe('`cas`: the write is refused unless the current version has this number; 0 for a new key')
    .meta({ examples: [{ cas: 3 }] }),
})

type At<Input> = Exchange<Input, { path: string }>
type Found = { readonly stored: StoredKey; readonly number: number; readonly version: Version }

/** The data of secrets. docs/contract/kv.md#data */
export function dataResources({ kvMounts, clock, random }: DataParts): Resource[] {
  const find = async ({
    mount,
    params,
    input,
  }: At<z.output<typeof readInput>>): Promise<Found | undefined> => {
    const keys = await kvMounts.keysOf(mount)
    const stored = isSecretPath(params.path) ? await keys.find(params.path) : undefined
    if (stored === undefined) return undefined
    const number = input.version > 0 ? input.version : stored.head.current
    const version = number === stored.head.current ? stored.head.last : await keys.version(stored, number)
    return version && { stored, number, version }
  }

  const written = async (
    exchange: At<z.output<typeof writeInput>>,
    operation: 'create' | 'patch',
  ): Promise<Reply> => {
    const { mount, params, input } = exchange
    const { data, options } = input
    if (data === undefined) throw refuse('invalid', 'no data provided')
    checkSecretPath(params.path)
    const keys = await kvMounts.keysOf(mount)
    const config = await kvMounts.of(mount).config()
    const text = operation === 'patch' ? '' : data === null ? 'null' : dataTextOf(data)
    const id = newKeyId(random)
    return await keys.change(params.path, {
      apply: (draft): Reply => {
        const { head } = draft
        if (operation === 'patch' && head === undefined) return emptyMissing
        if (operation !== 'patch') checkMayWrite(exchange, head !== undefined)
        checkCas(head, options, config)
        const by = actorOf(
          exchange,
          operation === 'patch' ? 'patch' : head === undefined ? 'create' : 'update',
        )
        if (operation !== 'patch') return shown(append(draft, { data: text, by, config, id }))
        if (head?.last === undefined) return emptyMissing
        if (isGone(head.last, draft.now)) return missing(shownVersion(head, head.current, head.last))
        return shown(append(draft, { data: patchedData(head.last, data), by, config, id }))
      },
    })
  }

  return [
    resource('/data/*path', {
      help: 'The versions of a secret. A write adds a version; a deletion hides the current one.',
      exists: async ({ mount, params }) => {
        const keys = await kvMounts.keysOf(mount)
        return isSecretPath(params.path) && (await keys.find(params.path)) !== undefined
      },
      read: {
        summary: 'Read a version of a secret',
        ...kvAnswers.data,
        input: readInput,
        handle: async (exchange) => {
          const found = await find(exchange)
          if (found === undefined) return undefined
          return isGone(found.version, clock.now())
            ? { status: 404, dataText: dataAnswer(found, 'null') }
            : { dataText: liveAnswer(found) }
        },
      },
      write: {
        summary: 'Write a new version of a secret',
        required: ['data'],
        ...kvAnswers.version,
        input: writeInput,
        handle: (exchange) => written(exchange, 'create'),
      },
      patch: {
        summary: 'Write a new version that merges fields into the current one',
        required: ['data'],
        ...kvAnswers.version,
        input: writeInput,
        handle: (exchange) => written(exchange, 'patch'),
      },
      delete: {
        summary: 'Delete the current version of a secret, so that it can be undeleted',
        handle: async (exchange) => {
          const { mount, params } = exchange
          const keys = await kvMounts.keysOf(mount)
          if (!isSecretPath(params.path)) return undefined
          await keys.change(params.path, {
            apply: (draft) => softDelete(draft, [draft.head?.current ?? 0], actorOf(exchange, 'delete')),
          })
          return undefined
        },
      },
    }),
    resource('/subkeys/*path', {
      help: 'The names in a secret, without any value.',
      read: {
        summary: 'Read the names of the fields of a secret',
        ...kvAnswers.subkeys,
        input: subkeysInput,
        handle: async (exchange) => {
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

/** Most reads are of current versions: their text is made once. */
function liveAnswer(found: Found): string {
  const { stored, number, version } = found
  if (number !== stored.head.current) return dataAnswer(found, version.data ?? 'null')
  stored.shown ??= dataAnswer(found, version.data ?? 'null')
  return stored.shown
}

const dataAnswer = ({ stored, number, version }: Found, data: string): string =>
  `{"data":${data},"metadata":${JSON.stringify(shownVersion(stored.head, number, version))}}`
