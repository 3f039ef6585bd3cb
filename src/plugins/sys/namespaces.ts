import { z } from 'zod'
import type { Caller } from '../../core/callers/access.ts'
import { patchedMetadata, readMetadata } from '../../core/namespaces/custom-metadata.ts'
import type { Namespace, NamespaceRecord } from '../../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import type { Core } from '../../core/open/core.ts'
import { fail, refuse } from '../../errors.ts'
import {
  type Exchange,
  namespaceOf,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { boolField, mapField, stringField } from '../../lib/text/fields.ts'
import { answers } from './answers/answers.ts'

type NamespaceRouteParts = Pick<Core, 'namespaces' | 'namespaceLife'>

const metadataInput = z.object({
  custom_metadata: mapField
    .optional()
    .describe('Notes about the namespace: text by name; replaces all earlier notes'),
})
const patchInput = z.object({
  custom_metadata: mapField.optional().describe('Notes to change; null deletes one, or all'),
})
const removalInput = z.object({
  abandon: boolField
    .default(false)
    .describe('Abandon objects that its mounts cannot delete at the provider; each id is logged. Needs sudo'),
})
const unlockInput = z.object({
  unlock_key: stringField.default('').describe('The key that locking returned; not needed with sudo'),
})

/** `sys/namespaces`: namespaces below that of the request. docs/contract/namespaces.md#managing-namespaces */
export function namespaceResources({ namespaces, namespaceLife }: NamespaceRouteParts): Resource[] {
  const childOf = (parent: Namespace, rest: string): NamespaceRecord | undefined =>
    namespaces.byPath(`${parent.path}${childName(rest)}/`)
  return [
    resource('/namespaces', {
      help: 'The namespaces below this one.',
      collection: true,
      list: {
        summary: 'List the namespaces one level below',
        ...answers.namespaces,
        handle: ({ call }) => listed(namespaceOf(call), namespaces.childrenOf(namespaceOf(call))),
      },
      scan: {
        summary: 'List all namespaces below',
        handle: ({ call }) => listed(namespaceOf(call), namespaces.descendantsOf(namespaceOf(call))),
      },
    }),
    resource('/namespaces/*', {
      help: 'A namespace: a part of the server with its own mounts, policies, tokens and identities.',
      canonical: withoutEndSlash,
      read: {
        summary: 'Read a namespace',
        ...answers.namespace,
        handle: ({ call, params }) => {
          const found = childOf(namespaceOf(call), params.rest)
          return found && { data: shown(found) }
        },
      },
      write: {
        summary: 'Create a namespace, or replace its notes',
        ...answers.namespace,
        input: metadataInput,
        handle: async ({ call, params, input }) => {
          const parent = namespaceOf(call)
          const known = childOf(parent, params.rest)
          if (known !== undefined)
            return {
              data: shown(await namespaceLife.replaceMetadata(known, readMetadata(input.custom_metadata))),
            }
          return {
            data: shown(
              await namespaceLife.create(parent, params.rest, () => readMetadata(input.custom_metadata)),
            ),
          }
        },
      },
      patch: {
        summary: 'Change some notes of a namespace',
        ...answers.namespace,
        input: patchInput,
        handle: async ({ call, params, input }) => {
          const known = childOf(namespaceOf(call), params.rest)
          if (known === undefined || known.tainted) throw refuse('invalid', 'namespace not found')
          const change = (record: NamespaceRecord) => ({
            ...record,
            custom_metadata: patchedMetadata(record.custom_metadata, input.custom_metadata),
          })
          return { data: shown(await namespaces.change(known.id, change)) }
        },
      },
      delete: {
        summary: 'Delete a namespace with everything in it',
        ...answers.namespaceEnds,
        input: removalInput,
        handle: async ({ call, params, caller, input: { abandon } }) => {
          if (abandon && !hasSudo(caller, call.path, 'delete')) throw fail('denied', 'permission denied')
          const known = childOf(namespaceOf(call), params.rest)
          if (known === undefined) return { data: null, warnings: ['requested namespace does not exist'] }
          await namespaceLife.remove(known, { abandon })
          return { data: { status: 'in-progress' } }
        },
      },
    }),
    resource('/internal/ui/namespaces', {
      help: 'The namespaces one level below in which the calling token has any access, or that lead to its own.',
      caller: 'required-inside',
      read: {
        summary: 'List namespaces for user interfaces',
        ...answers.shownNamespaces,
        handle: ({ call, caller }) => {
          const base = namespaceOf(call)
          const own = caller && namespaces.byId(caller.token.namespace)
          const leadsToOwn = (id: string) => own !== undefined && namespaces.pathBelow(id, own) !== undefined
          const keys = namespaces.childrenOf(base).flatMap(({ id, path }) => {
            const key = path.slice(base.path.length)
            return leadsToOwn(id) || caller?.acl.mountAccess(key) === true ? [key] : []
          })
          return { data: { keys } }
        },
      },
    }),
    ...lockResources(namespaces),
  ]
}

/** docs/contract/namespaces.md#managing-namespaces */
function lockResources(namespaces: NamespaceRouteParts['namespaces']): Resource[] {
  const lock = async ({ call }: Exchange<unknown, unknown>, rest: string): Promise<Reply> => {
    return { data: { unlock_key: await namespaces.lock(lockTarget(namespaces, namespaceOf(call), rest)) } }
  }
  const lockHelp = 'Lock the API of a namespace and all below it.'
  const unlock = async (
    { call, caller, input }: Exchange<z.output<typeof unlockInput>, unknown>,
    rest: string,
  ): Promise<Reply | undefined> => {
    const withoutKey = input.unlock_key === '' && hasSudo(caller, call.path)
    await namespaces.unlock(
      lockTarget(namespaces, namespaceOf(call), rest),
      withoutKey ? undefined : input.unlock_key,
    )
    return withoutKey ? { warnings: ['Namespace unlocked using sudo capabilities'] } : undefined
  }
  const unlockHelp = 'Unlock the API of a namespace.'
  return [
    resource('/namespaces/api-lock/lock', {
      help: lockHelp,
      write: {
        summary: 'Lock the namespace of the request',
        ...answers.unlockKey,
        handle: (exchange) => lock(exchange, ''),
      },
    }),
    resource('/namespaces/api-lock/lock/*', {
      help: lockHelp,
      write: {
        summary: 'Lock a namespace',
        ...answers.unlockKey,
        handle: (exchange) => lock(exchange, exchange.params.rest),
      },
    }),
    resource('/namespaces/api-lock/unlock', {
      help: unlockHelp,
      write: {
        summary: 'Unlock the namespace of the request',
        ...answers.maybeWarned,
        input: unlockInput,
        handle: (exchange) => unlock(exchange, ''),
      },
    }),
    resource('/namespaces/api-lock/unlock/*', {
      help: unlockHelp,
      write: {
        summary: 'Unlock a namespace',
        ...answers.maybeWarned,
        input: unlockInput,
        handle: (exchange) => unlock(exchange, exchange.params.rest),
      },
    }),
  ]
}

/** A request names a direct child; deeper namespaces are managed from their parent. */
function childName(rest: string): string {
  const name = withoutEndSlash(rest)
  if (name.includes('/')) throw refuse('invalid', 'namespace name cannot contain /')
  return name
}

const withoutEndSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path)

const shown = ({ id, uuid, path, tainted, unlock_key_hash, custom_metadata }: NamespaceRecord) => ({
  id,
  uuid,
  path,
  tainted,
  locked: unlock_key_hash !== '',
  custom_metadata,
})

function listed(base: Namespace, found: readonly NamespaceRecord[]): Reply | undefined {
  if (found.length === 0) return undefined
  const keyOf = ({ path }: Namespace) => path.slice(base.path.length)
  return {
    data: {
      keys: found.map(keyOf),
      key_info: Object.fromEntries(found.map((one) => [keyOf(one), shown(one)])),
    },
  }
}

function lockTarget(namespaces: NamespaceStore, base: Namespace, rest: string): Namespace {
  const below = rest === '' || rest.endsWith('/') ? rest : `${rest}/`
  const found = namespaces.byPath(base.path + below)
  if (found === undefined || found.tainted) throw refuse('invalid', 'requested namespace does not exist')
  return found
}

const hasSudo = (
  caller: Caller | undefined,
  path: string,
  operation: 'update' | 'delete' = 'update',
): boolean => caller?.acl.decide({ operation, path }).sudo === true
