import { everyValue } from '../../../core/audit/hashing.ts'
import { listedNames } from '../../../core/lists.ts'
import { effectiveDefaultTtl } from '../../../core/mounts/mount-info.ts'
import type { Core } from '../../../core/open/core.ts'
import { pageOf } from '../../../core/sealed-names/sorted-names.ts'
import { refuse } from '../../../errors.ts'
import { type Exchange, type Resource, resource } from '../../../http/resource/resource.ts'
import { parseDuration } from '../../../lib/text/go-duration.ts'
import type { JsonValue } from '../../../lib/text/json.ts'
import type { Entry } from '../store/first-entries.ts'
import type { KvMounts } from '../store/kv-mounts.ts'
import { listInput } from '../store/pages.ts'
import { dataTextOf } from '../store/secret-data.ts'
import { checkSecretPath, isFolderPath, isSecretPath } from '../store/secret-path.ts'
import { checkMayWrite, pathsToSee } from './access.ts'
import { kvAnswers } from './answers.ts'

export type FirstVersionParts = Pick<Core, 'systemTtl' | 'mostListBytes'> & { readonly kvMounts: KvMounts }

type At = Exchange<unknown, { rest: string }>

/** Mounts of version 1: one value for each path. docs/contract/kv.md#version-1 */
export function firstVersionResources({ kvMounts, systemTtl, mostListBytes }: FirstVersionParts): Resource[] {
  const entriesOf = ({ mount }: At) => kvMounts.of(mount).first.get()
  const find = async (exchange: At): Promise<Entry | undefined> => {
    const { rest } = exchange.params
    return isSecretPath(rest) ? (await entriesOf(exchange)).find(rest) : undefined
  }

  return [
    resource('/*', {
      help: 'A secret: fields of any names and values, kept as they were written last.',
      secretValues: everyValue,
      exists: async (exchange) => (await find(exchange)) !== undefined,
      read: {
        summary: 'Read a secret',
        ...kvAnswers.entry,
        handle: async (exchange) => {
          const entry = await find(exchange)
          if (entry === undefined) return undefined
          const duration = entry.lease ?? effectiveDefaultTtl(exchange.mount, systemTtl)
          return { dataText: entry.data, lease: { id: '', renewable: false, duration } }
        },
      },
      write: {
        summary: 'Write a secret',
        anyFields: true,
        handle: async (exchange) => {
          const { sent, params, mount } = exchange
          if (params.rest === '') throw refuse('invalid', 'missing path')
          if (Object.keys(sent).length === 0) throw refuse('invalid', 'missing data fields')
          checkSecretPath(params.rest)
          const entry = { data: dataTextOf(sent), ...leaseIn(sent) }
          const check = (exists: boolean) => checkMayWrite(exchange, exists)
          await (await entriesOf(exchange)).put(params.rest, entry, check)
          await kvMounts.wrote(mount)
        },
      },
      delete: {
        summary: 'Delete a secret',
        handle: async (exchange) => {
          const { params, mount } = exchange
          if (isSecretPath(params.rest)) await (await entriesOf(exchange)).remove(params.rest)
          kvMounts.checkIsFirst(mount)
        },
      },
      list: {
        summary: 'List secrets',
        input: listInput,
        handle: async (exchange) => {
          const { params, input } = exchange
          const keys = isFolderPath(params.rest)
            ? await (await entriesOf(exchange)).namesIn(params.rest, input)
            : []
          return { ...(await listedNames(keys, mostListBytes)), paged: true }
        },
      },
      scan: {
        summary: 'List all secrets below a folder',
        input: listInput,
        handle: async (exchange) => {
          const { params, input } = exchange
          const paths = isFolderPath(params.rest)
            ? await (await entriesOf(exchange)).pathsBelow(params.rest, exchange)
            : []
          const keys = pageOf(await pathsToSee(exchange, params.rest, paths), input)
          return keys.length === 0
            ? { data: {}, paged: true }
            : { ...(await listedNames(keys, mostListBytes)), paged: true }
        },
      },
    }),
  ]
}

/** The lease duration that an entry names in `ttl` or `lease`; none if it cannot be read. */
function leaseIn({ ttl, lease }: Readonly<Record<string, JsonValue>>): { lease?: number } {
  const named = ttl === undefined ? lease : ttl
  if (named === undefined) return {}
  if (named === null) return { lease: 0 }
  const parsed = parseDuration(named, { signed: true })
  return 'error' in parsed ? {} : { lease: Math.max(0, parsed.seconds) }
}
