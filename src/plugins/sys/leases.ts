import { z } from 'zod'
import { listedNames } from '../../core/lists.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { Core } from '../../core/open/core.ts'
import { refuse } from '../../errors.ts'
import {
  type Call,
  type DocumentedAnswer,
  followsField,
  limitOf,
  maySend,
  type Reply,
  type Resource,
  resource,
  tidyReply,
} from '../../http/resource/resource.ts'
import { boolField, durationField, stringField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { answers } from './answers/answers.ts'

type LeaseRouteParts = Pick<Core, 'leases' | 'namespaces' | 'mostListBytes' | 'mountOf'>

const leaseId = stringField.default('').describe('Id of the lease')
const sync = boolField.default(true).describe('Wait until the secret is revoked')
const renewInput = z.object({
  lease_id: leaseId,
  increment: durationField.default(0).describe('Requested TTL, counted from now'),
})
const revokeInput = z.object({ lease_id: leaseId, sync })
const typeField = stringField.default('').describe('`irrevocable`')
const countInput = z.object({
  type: typeField,
  include_child_namespaces: boolField.default(false).describe('Include the leases of all namespaces below'),
})
const irrevocableInput = countInput.extend({
  limit: stringField.optional().describe('Most leases to return; `none` for all'),
})

const defaultLimit = 10_000
const halted =
  'Command halted because many irrevocable leases were found. To emit the entire list, re-run the command with force set true.'

/** `sys/leases` and its old paths. docs/contract/leases.md#calls */
export function leaseResources(parts: LeaseRouteParts): Resource[] {
  const bothPaths = (['/leases', ''] as const).flatMap((path) => [
    ...renewResources(parts, path),
    ...revokeResources(parts, path),
    ...prefixResources(parts, path),
  ])
  return [
    ...lookupResources(parts),
    ...bothPaths,
    ...irrevocableResources(parts),
    resource('/leases/tidy', {
      help: 'Revoke the leases of tokens that no longer exist, in the background.',
      write: {
        summary: 'Tidy up leases',
        ...answers.inBackground,
        handle: () => tidyReply(parts.leases.owners.tidy()),
      },
    }),
  ]
}

function lookupResources({ leases, mostListBytes }: LeaseRouteParts): Resource[] {
  return [
    resource('/leases/lookup', {
      help: 'Look up a lease.',
      passesReadOnly: true,
      precheck: checkLeaseIdText,
      follows: followsField('lease_id'),
      write: {
        summary: 'Look up a lease',
        required: ['lease_id'],
        ...answers.lease,
        input: z.object({ lease_id: leaseId }),
        handle: async (exchange) => {
          const { call, mount, input } = exchange
          const ref = { namespace: mount.namespace, id: given(input.lease_id) }
          const found = await leases.lookup(ref, namespacePath(call))
          if (found === undefined) throw refuse('invalid', 'invalid lease')
          // whoever knows an id may look it up, but not learn whose it is
          const folder = `leases/lookup/${ref.id.slice(0, ref.id.lastIndexOf('/') + 1)}`
          const tellsWhose = maySend(exchange, { operation: 'list', path: folder, needsSudo: true })
          const entity_id = tellsWhose ? await leases.entityOf(ref) : ''
          return { data: { ...found, ...(entity_id !== '' && { entity_id }) } }
        },
      },
    }),
    resource('/leases/lookup/*', {
      help: 'List lease ids below a path.',
      sudo: true,
      list: {
        summary: 'List lease ids',
        ...answers.leaseIds,
        handle: async ({ mount, params, sent, whenGone }) => {
          const page = { after: typeof sent.after === 'string' ? sent.after : '', limit: limitOf(sent.limit) }
          const ids = await leases.list(mount.namespace, params.rest, page, { whenGone })
          const isWhole = page.after === '' && page.limit === 0
          return isWhole ? listedNames(ids, mostListBytes) : { data: { keys: ids } }
        },
      },
    }),
  ]
}

function renewResources({ leases }: LeaseRouteParts, path: '/leases' | ''): Resource[] {
  return inBodyOrPath(`${path}/renew`, 'Extend a lease.', {
    summary: 'Renew a lease',
    ...answers.renewedLease,
    input: renewInput,
    handle: async ({ namespace }, id, { increment }) => {
      const renewed = await leases.renew({ namespace, id }, increment)
      return renewed && { lease: renewed, data: renewed.data, warnings: renewed.warnings }
    },
  })
}

function revokeResources({ leases }: LeaseRouteParts, path: '/leases' | ''): Resource[] {
  return inBodyOrPath(`${path}/revoke`, 'Revoke a lease and its secret.', {
    summary: 'Revoke a lease',
    ...answers.revocation,
    input: revokeInput,
    handle: async ({ namespace }, id, { sync }) => {
      await leases.revoke({ namespace, id }, { sync })
      return sync ? undefined : { status: 202 }
    },
  })
}

/** A call for the lease whose id is in the body, and the same for the one whose id ends the path. */
function inBodyOrPath<Input extends typeof renewInput | typeof revokeInput>(
  path: `${'/leases' | ''}/${'renew' | 'revoke'}`,
  help: string,
  verb: DocumentedAnswer & {
    summary: string
    input: Input
    handle(mount: Mount, id: string, input: z.output<Input>): Promise<Reply | undefined>
  },
): Resource[] {
  const both = { help, passesReadOnly: true, precheck: checkLeaseIdText }
  return [
    resource(path, {
      ...both,
      follows: followsField('lease_id'),
      write: {
        ...verb,
        required: ['lease_id'],
        handle: ({ mount, input }) => verb.handle(mount, given(input.lease_id), input),
      },
    }),
    resource(`${path}/*`, {
      ...both,
      write: {
        ...verb,
        handle: ({ mount, params, input }) => verb.handle(mount, given(input.lease_id || params.rest), input),
      },
    }),
  ]
}

function prefixResources({ leases }: LeaseRouteParts, path: '/leases' | ''): Resource[] {
  return [
    resource(`${path}/revoke-prefix/*`, {
      help: 'Revoke all leases below a path.',
      passesReadOnly: true,
      sudo: true,
      write: {
        summary: 'Revoke the leases below a path',
        ...answers.revocation,
        input: z.object({ sync }),
        handle: async ({ mount, params, input }) => {
          await leases.prefixes.revoke(mount.namespace, params.rest, input.sync ? 'sync' : 'async')
          return input.sync ? undefined : { status: 202 }
        },
      },
    }),
    resource(`${path}/revoke-force/*`, {
      help: 'Delete all leases below a path, even when their secrets cannot be revoked.',
      passesReadOnly: true,
      sudo: true,
      write: {
        summary: 'Force the revocation of the leases below a path',
        handle: ({ mount, params }) => leases.prefixes.revoke(mount.namespace, params.rest, 'force'),
      },
    }),
  ]
}

function irrevocableResources({ leases, namespaces, mountOf }: LeaseRouteParts): Resource[] {
  const namespacesOf = (call: Call, withChildren: boolean): string[] => {
    if (call.namespace === undefined) return []
    return [
      call.namespace.id,
      ...(withChildren ? namespaces.descendantsOf(call.namespace).map(({ id }) => id) : []),
    ]
  }
  const shownAccessor = (accessor: string) =>
    mountOf(accessor) === undefined ? 'mount-accessor-not-found' : accessor

  return [
    resource('/leases/count', {
      help: 'How many leases cannot be revoked.',
      read: {
        summary: 'Count irrevocable leases',
        ...answers.leaseCount,
        input: countInput,
        handle: async ({ call, input }) => {
          if (!isIrrevocableType(input.type)) return undefined
          const counts: Record<string, number> = {}
          let total = 0
          for await (const { mountAccessor } of leases.irrevocable(
            namespacesOf(call, input.include_child_namespaces),
          )) {
            const accessor = shownAccessor(mountAccessor)
            counts[accessor] = (counts[accessor] ?? 0) + 1
            total += 1
          }
          return { data: { lease_count: total, counts } }
        },
      },
    }),
    resource('/leases', {
      help: 'The leases that cannot be revoked, and why.',
      sudo: true,
      read: {
        summary: 'List irrevocable leases',
        ...answers.irrevocableLeases,
        input: irrevocableInput,
        handle: async ({ call, input }) => {
          if (!isIrrevocableType(input.type)) return undefined
          const limit = mostListed(input.limit)
          const listed: { lease_id: string; mount_id: string; error: string }[] = []
          for await (const { id, mountAccessor, error } of leases.irrevocable(
            namespacesOf(call, input.include_child_namespaces),
          )) {
            if (listed.length === limit)
              return { data: { lease_count: listed.length, leases: listed }, warnings: [halted] }
            listed.push({ lease_id: id, mount_id: shownAccessor(mountAccessor), error })
          }
          return { data: { lease_count: listed.length, leases: listed } }
        },
      },
    }),
  ]
}

const isIrrevocableType = (type: string): boolean => type.toLowerCase() === 'irrevocable'

/** docs/contract/leases.md#retries */
function mostListed(limit: string | undefined): number {
  if (limit === undefined || limit === '') return defaultLimit
  if (limit.toLowerCase() === 'none') return Number.POSITIVE_INFINITY
  if (!/^[+-]?\d{1,15}$/.test(limit))
    throw refuse(
      'invalid',
      `invalid 'limit' provided: strconv.Atoi: parsing ${quoted(limit)}: invalid syntax`,
    )
  if (Number(limit) < 1) throw refuse('invalid', "limit must be 'none' or a positive integer")
  return Number(limit)
}

function given(id: string): string {
  if (id === '') throw refuse('invalid', 'lease_id must be specified')
  return id
}

const namespacePath = (call: Call): string => call.namespace?.path ?? ''

/** docs/contract/http.md#the-order-of-refusals */
function checkLeaseIdText(sent: Readonly<Record<string, JsonValue>>): void {
  const { lease_id: id } = sent
  if (id !== undefined && id !== null && typeof id !== 'string') throw refuse('invalid', 'invalid lease ID')
}
