import type { z } from 'zod'
import { type Detail, listedDetails, listedNames, whileThere } from '../../../core/lists.ts'
import type { Core } from '../../../core/open/core.ts'
import { pageOf } from '../../../core/sealed-names/sorted-names.ts'
import {
  checkMayReach,
  type Exchange,
  mayReach,
  type Reply,
  type Resource,
  resource,
  warned,
} from '../../../http/resource/resource.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import { boolField } from '../../../lib/text/fields.ts'
import { isGone, newKeyId } from '../store/key-record.ts'
import type { Keys } from '../store/keys.ts'
import type { KvMounts } from '../store/kv-mounts.ts'
import {
  checkMetadataCas,
  metadataInput,
  overruled,
  patchedSettings,
  sentSettings,
  setMetadata,
  setsMetadata,
  shownMetadata,
} from '../store/metadata-changes.ts'
import { type ListRange, listInput } from '../store/pages.ts'
import { checkSecretPath, isFolderPath, isSecretPath } from '../store/secret-path.ts'
import { actorOf, checkMayWrite, pathsToSee } from './access.ts'
import { kvAnswers } from './answers.ts'
import { emptyMissing } from './missing.ts'
import { changeKey, checkIfMatch, isThere } from './one-key.ts'

export type MetadataParts = Pick<Core, 'clock' | 'random' | 'mostListBytes'> & { readonly kvMounts: KvMounts }

const namesInput = listInput.extend({
  exclude_deleted: boolField
    .default(false)
    .describe('Leave out keys whose current version is deleted or destroyed'),
})

/** Each is a key with all its versions. */
const detailsAtOnce = 16

type At<Input> = Exchange<Input, { path: string }>
type Listing = At<z.output<typeof namesInput>>

/** The settings, versions and names of secrets. docs/contract/kv.md#metadata */
export function metadataResources({ kvMounts, clock, random, mostListBytes }: MetadataParts): Resource[] {
  /** The names directly in a folder, or the paths below it, that a list asks for. */
  const listed = async (exchange: At<ListRange>, isDeep: boolean): Promise<readonly string[]> => {
    const { mount, params } = exchange
    const { lists } = await kvMounts.keysOf(mount)
    if (!isFolderPath(params.path)) return []
    if (!isDeep) return lists.namesIn(params.path)
    const paths = await lists.pathsBelow(params.path, exchange)
    return pathsToSee(exchange, `metadata/${params.path}`, paths)
  }

  const namesOf = async (exchange: Listing, isDeep: boolean): Promise<readonly string[]> => {
    const names = await listed(exchange, isDeep)
    if (!exchange.input.exclude_deleted) return pageOf(names, exchange.input)
    const keys = await kvMounts.keysOf(exchange.mount)
    const { after, limit } = exchange.input
    const kept: string[] = []
    for await (const page of whileThere(pagesOf(pageOf(names, { after, limit: 0 })), exchange))
      for (const name of page) {
        if (name.endsWith('/') || (await isShown(keys, exchange.params.path + name))) kept.push(name)
        if (limit > 0 && kept.length === limit) return kept
      }
    return kept
  }

  const isShown = async (keys: Keys, path: string): Promise<boolean> => {
    const last = (await keys.find(path))?.head.last
    return last === undefined || !isGone(last, clock.now())
  }

  const detailsOf = async function* (
    exchange: At<ListRange>,
    isDeep: boolean,
  ): AsyncGenerator<readonly Detail[], void, undefined> {
    const names = pageOf(await listed(exchange, isDeep), exchange.input)
    const keys = await kvMounts.keysOf(exchange.mount)
    const config = await kvMounts.of(exchange.mount).config.get()
    for await (const page of pagesOf(names, detailsAtOnce))
      for (const name of page) {
        const path = exchange.params.path + name
        const isShownEmpty =
          name.endsWith('/') || !mayReach(exchange, { operation: 'read', path: `metadata/${path}` })
        const found = isShownEmpty ? undefined : await keys.described(path, exchange)
        if (isShownEmpty) yield [[name, {}]]
        // otherwise deleted since it was listed
        else if (found !== undefined) yield [[name, await shownMetadata(found, config)]]
      }
  }

  const detailed = async (exchange: At<ListRange>, isDeep: boolean): Promise<Reply> => {
    const operation = isDeep ? 'scan' : 'list'
    checkMayReach(exchange, { operation, path: `metadata/${exchange.params.path}` })
    const details = whileThere(detailsOf(exchange, isDeep), exchange)
    return { ...(await listedDetails(details, mostListBytes)), paged: true }
  }

  const changed = async (
    exchange: At<z.output<typeof metadataInput>>,
    operation: 'update' | 'patch',
  ): Promise<Reply | undefined> => {
    const { mount, params, input, sent } = exchange
    if (!setsMetadata(input, sent)) return undefined
    checkSecretPath(params.path)
    const settings = operation === 'patch' ? undefined : sentSettings(input)
    // what no key could have is told first
    if (settings === undefined) patchedSettings(null, input, sent)
    if (settings !== undefined && Object.keys(settings).length === 0) return undefined
    const keys = await kvMounts.keysOf(mount)
    const config = await kvMounts.of(mount).config.get()
    const who = { id: newKeyId(random), by: actorOf(exchange, operation) }
    const isFound = await keys.change(params.path, {
      apply: (draft) => {
        const { head } = draft
        if (settings !== undefined) checkMayWrite(exchange, head !== undefined)
        checkIfMatch(exchange, head)
        if (settings === undefined && head === undefined) return false
        checkMetadataCas(head, input, config)
        const next = settings ?? (head && patchedSettings(head.customMetadata, input, sent)) ?? {}
        setMetadata(draft, next, who)
        return true
      },
    })
    if (!isFound) return emptyMissing
    return warned(overruled(input, config))
  }

  return [
    resource('/metadata/*path', {
      help: 'The settings of a secret, the state of its versions, and the names in a folder.',
      exists: (exchange) => isThere(kvMounts, exchange),
      read: {
        summary: 'Read the settings of a secret and the state of its versions',
        ...kvAnswers.metadata,
        handle: async (exchange) => {
          const { mount, params } = exchange
          const keys = await kvMounts.keysOf(mount)
          const found = isSecretPath(params.path) ? await keys.described(params.path, exchange) : undefined
          if (found === undefined) return undefined
          return { data: await shownMetadata(found, await kvMounts.of(mount).config.get()) }
        },
      },
      write: {
        summary: 'Change the settings of a secret',
        ...kvAnswers.maybeWarned,
        input: metadataInput,
        handle: (exchange) => changed(exchange, 'update'),
      },
      patch: {
        summary: 'Merge changes into the settings of a secret',
        ...kvAnswers.maybeWarned,
        input: metadataInput,
        handle: (exchange) => changed(exchange, 'patch'),
      },
      delete: {
        summary: 'Delete a secret with its settings and all its versions, for good',
        ...kvAnswers.changed,
        handle: (exchange) => changeKey(kvMounts, exchange, (draft) => draft.remove()),
      },
      list: {
        summary: 'List the names in a folder',
        input: namesInput,
        handle: async (exchange) => ({
          ...(await listedNames(await namesOf(exchange, false), mostListBytes)),
          paged: true,
        }),
      },
      scan: {
        summary: 'List the paths below a folder',
        input: namesInput,
        handle: async (exchange) => {
          const keys = await namesOf(exchange, true)
          return keys.length === 0
            ? { data: {}, paged: true }
            : { ...(await listedNames(keys, mostListBytes)), paged: true }
        },
      },
    }),
    resource('/detailed-metadata/*path', {
      help: 'The names in a folder, with the settings of each secret and the state of its versions.',
      list: {
        summary: 'List the names in a folder with their metadata',
        ...kvAnswers.detailed,
        input: listInput,
        handle: (exchange) => detailed(exchange, false),
      },
      scan: {
        summary: 'List the paths below a folder with their metadata',
        input: listInput,
        handle: (exchange) => detailed(exchange, true),
      },
    }),
  ]
}
