import { z } from 'zod'
import { ownerOfMount } from '../../core/history/change-row.ts'
import { lockoutForm } from '../../core/mounts/lockout-config.ts'
import type { Mount, MountTable } from '../../core/mounts/mount.ts'
import { mountInfo, tuneInfo } from '../../core/mounts/mount-info.ts'
import {
  authPrefix,
  fixedPaths,
  type MountPoint,
  mountPointOf,
  shownPath,
  tunePathOf,
  withSlash,
} from '../../core/mounts/mount-path.ts'
import { mountRecords } from '../../core/mounts/mount-record.ts'
import { concerns, type MoveSide } from '../../core/mounts/move.ts'
import { enableInput } from '../../core/mounts/new-mount.ts'
import { tuneForm, tuneInput } from '../../core/mounts/tune.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import type { Core } from '../../core/open/core.ts'
import type { AclRequest } from '../../core/policies/acl.ts'
import { fail, refuse } from '../../errors.ts'
import {
  describedOnly,
  type Exchange,
  type KeptHistory,
  namespaceOf,
  type Place,
  type Reply,
  type Resource,
  resource,
  unknownPaths,
  warned,
} from '../../http/resource/resource.ts'
import { boolField, stringField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { isJsonObject } from '../../lib/text/json.ts'
import { answers } from './answers/answers.ts'

export type MountRouteParts = Pick<Core, 'mounts' | 'namespaces' | 'systemTtl' | 'history'> & {
  /** As reported to clients. */
  version: string
}

/** One wildcard path takes both calls; each handler reads its own fields. */
const writeInput = enableInput.extend(tuneInput.shape)

const moveInput = z.object({
  from: stringField.default('').describe('Current path of the mount; auth mounts with `auth/`'),
  to: stringField.default('').describe('New path of the mount'),
})

const removalInput = z.object({
  abandon: boolField
    .default(false)
    .describe('Abandon objects that the mount cannot delete at the provider; each id is logged. Needs sudo'),
})

const tuneEnd = '/tune'

/**
 * The mount a management path names, and whether it means the mount itself or its tuning.
 * docs/contract/mounts.md#calls
 */
function target(sys: Mount, table: MountTable, rest: string): MountPoint & { tunes: boolean } {
  const { asked, tunes } = askedOf(rest)
  return { ...mountPointOf(sys.namespace, table, asked), tunes }
}

function askedOf(rest: string): { asked: string; tunes: boolean } {
  const tunes = rest.length > tuneEnd.length && rest.endsWith(tuneEnd)
  return { asked: tunes ? rest.slice(0, -tuneEnd.length) : rest, tunes }
}

function canonicalTarget(folder: string, below: string): string {
  if (!below.startsWith(folder)) return below
  const { asked, tunes } = askedOf(below.slice(folder.length))
  return `${folder}${withSlash(asked).slice(0, -1)}${tunes ? tuneEnd : ''}`
}

/** Reading a path below a mount reveals the mount, so the caller needs the right to read the mount itself. */
function checkMayRead({ call, caller }: Exchange<unknown, unknown>, mount: Mount): void {
  const request: AclRequest = {
    operation: 'read',
    path: call.path,
    canonicalPath: `${fixedPaths.system}mounts/${mount.path.slice(0, -1)}`,
    fields: call.sent,
    wrapTtlSeconds: call.wrapTtl,
  }
  if (caller?.acl.decide(request).allowed !== true) throw fail('denied', 'permission denied')
}

/** Throws unless the caller has `delete` and `sudo`; `below` is the canonical path below `sys/`. */
function checkHasSudo({ call, caller, mount }: Exchange<unknown, unknown>, below: string): void {
  const verdict = caller?.acl.decide({
    operation: 'delete',
    path: call.path,
    canonicalPath: mount.path + below,
    fields: call.sent,
  })
  if (verdict?.allowed !== true || !verdict.sudo) throw fail('denied', 'permission denied')
}

/** `sys/auth`, `sys/mounts`, `sys/remount` and the listings for user interfaces. docs/contract/mounts.md */
export function mountResources(parts: MountRouteParts): Resource[] {
  return [
    ...tableResources(parts, {
      path: '/auth',
      table: 'auth',
      sudo: true,
      noun: 'auth methods',
      ids: authIds,
    }),
    ...tableResources(parts, {
      path: '/mounts',
      table: 'secret',
      sudo: false,
      noun: 'secrets engines',
      ids: secretIds,
    }),
    ...moveResources(parts),
    ...listingResources(parts),
  ]
}

type TableRoutes = {
  path: '/auth' | '/mounts'
  table: MountTable
  sudo: boolean
  noun: string
  ids: typeof authIds
}

/** Clients that were made from Vault's API document know the operations by these. */
const authIds = {
  list: 'auth-list-enabled-methods',
  read: 'auth-read-configuration',
  enable: 'auth-enable-method',
  disable: 'auth-disable-method',
  readTuning: 'auth-read-tuning-information',
  tune: 'auth-tune-configuration-parameters',
}
const secretIds = {
  list: 'mounts-list-secrets-engines',
  read: 'mounts-read-configuration',
  enable: 'mounts-enable-secrets-engine',
  disable: 'mounts-disable-secrets-engine',
  readTuning: 'mounts-read-tuning-information',
  tune: 'mounts-tune-configuration-parameters',
}

/**
 * Changes of a mount and of its tuning are those of one object, which keeps its history when it moves.
 * docs/contract/history.md#what-is-kept
 */
function mountHistory(
  { mounts, history: store }: Pick<MountRouteParts, 'mounts' | 'history'>,
  table: MountTable,
): KeptHistory<{ readonly rest: string }> {
  const pointOf = ({ mount, params }: Place<{ readonly rest: string }>) => target(mount, table, params.rest)
  const mountOf = (place: Place<{ readonly rest: string }>, uuid: string): Mount | undefined => {
    const point = pointOf(place)
    const found = uuid === '' ? mounts.table.at(point.namespace, point.path) : mounts.table.byUuid(uuid)
    return found?.tainted === true ? undefined : found
  }
  const formOf = (mount: Mount | undefined) => mount && tuneForm(mount)
  return {
    store,
    record: () => mountRecords,
    path: (place) => tunePathOf(pointOf(place)),
    owner: async (place, rest) => {
      const uuid = rest === '' ? mountOf(place, '')?.uuid : rest
      if (uuid !== undefined) return ownerOfMount(uuid)
      const path = tunePathOf(pointOf(place))
      const deleted = await store.deletedIn(place.mount.namespace)
      return deleted.find((row) => row.path === path)?.owner ?? ownerOfMount('')
    },
    form: (place, rest) => formOf(mountOf(place, rest)),
    // an option or a lock that the version does not have
    adapt: (form, place) => {
      const now = mountOf(place, '')
      const added = Object.keys(now?.options ?? {}).map((name) => [name, ''])
      const options = isJsonObject(form['options']) ? form['options'] : undefined
      return {
        ...form,
        ...(options && { options: { ...Object.fromEntries(added), ...options } }),
        ...(now?.config.user_lockout_config && {
          user_lockout_config: form['user_lockout_config'] ?? lockoutForm(),
        }),
      }
    },
    needsSudo,
    gone: 'the data of a removed mount is gone: enable it again, and configure it anew',
  }
}

const needsSudo = (path: string): boolean => path.startsWith(authPrefix)

/** A move is a change of the mount. No revert moves it back. */
const moveHistory = ({
  mounts,
  history,
}: Pick<MountRouteParts, 'mounts' | 'history'>): KeptHistory<unknown> => ({
  store: history,
  record: () => mountRecords,
  path: (_place, uuid) => tunePathOf(mounts.table.byUuid(uuid) ?? { path: '' }),
  owner: (_place, uuid) => ownerOfMount(uuid),
  form: (_place, uuid) => {
    const mount = mounts.table.byUuid(uuid)
    return mount && tuneForm(mount)
  },
  needsSudo,
  elsewhere: 'other name',
})

function tableResources(
  { mounts, systemTtl, version, history: store }: MountRouteParts,
  { path, table, sudo, noun, ids }: TableRoutes,
): Resource[] {
  const read = (place: MountPoint, exchange: Exchange<unknown, unknown>): Reply => {
    const mount =
      table === 'auth'
        ? mounts.table.at(place.namespace, place.path)
        : mounts.table.resolve(place.namespace, place.path)?.mount
    if (mount === undefined)
      throw refuse(
        'invalid',
        `No ${table === 'auth' ? 'auth engine' : 'secret engine mount'} at ${shownPath(place)}`,
      )
    if (mount.path !== place.path) checkMayRead(exchange, mount)
    return { data: mountInfo(mount, version) }
  }
  const readTune = (place: MountPoint): Reply => {
    const mount = mounts.table.at(place.namespace, place.path)
    if (mount === undefined) throw refuse('invalid', `cannot fetch sysview for path ${quoted(place.path)}`)
    return { data: tuneInfo(mount, systemTtl) }
  }
  const tune = async (place: MountPoint, input: z.output<typeof tuneInput>): Promise<Reply | undefined> => {
    return warned(await mounts.tune(place, input))
  }

  const history = mountHistory({ mounts, history: store }, table)
  return [
    resource(path, {
      help: `List the ${noun} that are mounted.`,
      read: {
        summary: `List the mounted ${noun}`,
        ...answers.mounts,
        operationId: ids.list,
        handle: ({ mount }) => ({
          data: Object.fromEntries(
            mounts.table
              .list(mount.namespace, table)
              .map((listed) => [shownPath(listed), mountInfo(listed, version)]),
          ),
        }),
      },
    }),
    unknownPaths({ url: `${path}/` }),
    resource(`${path}/*`, {
      help: `Enable, read, tune or disable one of the ${noun}.`,
      sudo,
      canonical: (below) => canonicalTarget(`${path.slice(1)}/`, below),
      history,
      read: {
        summary: `Read one of the ${noun}, or with /tune its tuning`,
        ...answers.mount,
        operationId: ids.read,
        handle: (exchange) => {
          const { tunes, ...place } = target(exchange.mount, table, exchange.params.rest)
          return tunes ? readTune(place) : read(place, exchange)
        },
      },
      write: {
        summary: `Enable one of the ${noun}, or with /tune change its tuning`,
        input: writeInput,
        shownInput: enableInput.meta({ examples: [{ type: table === 'auth' ? 'jwt' : 'cloud' }] }),
        operationId: ids.enable,
        handle: async ({ mount, params, input }) => {
          const { tunes, ...place } = target(mount, table, params.rest)
          if (tunes) return tune(place, input)
          await mounts.enable(place, input)
        },
      },
      delete: {
        summary: `Disable one of the ${noun} and delete its data`,
        operationId: ids.disable,
        input: removalInput,
        handle: async (exchange) => {
          const { tunes, ...place } = target(exchange.mount, table, exchange.params.rest)
          if (tunes) throw fail('unsupported', 'unsupported operation')
          const { abandon } = exchange.input
          if (abandon) checkHasSudo(exchange, canonicalTarget(`${path.slice(1)}/`, exchange.call.below))
          await mounts.disable(place, { abandon })
        },
      },
    }),
    describedOnly(
      resource(`${path}/:path${tuneEnd}`, {
        help: `Read or change the tuning of one of the ${noun}.`,
        sudo,
        read: {
          summary: `Read the tuning of one of the ${noun}`,
          ...answers.tuning,
          operationId: ids.readTuning,
          handle: ({ mount, params }) => readTune(mountPointOf(mount.namespace, table, params.path)),
        },
        write: {
          summary: `Change the tuning of one of the ${noun}`,
          input: tuneInput,
          operationId: ids.tune,
          handle: ({ mount, params, input }) =>
            tune(mountPointOf(mount.namespace, table, params.path), input),
        },
      }),
    ),
  ]
}

/** A path may lead into a namespace below. docs/contract/mounts.md#moving */
function sideOf(namespaces: NamespaceStore, base: Namespace, asked: string): MoveSide {
  const path = asked.startsWith('/') ? asked.slice(1) : asked
  const { namespace, taken } = namespaces.resolve(undefined, base.path + path) ?? {
    namespace: base,
    taken: base.path.length,
  }
  return { namespace, path: path.slice(taken - base.path.length) }
}

/** The response to a move waits this long for its end: most clients do not ask for its state. */
const shortMoveMs = 2_000

function moveResources({ mounts, namespaces, history }: MountRouteParts): Resource[] {
  return [
    resource('/remount', {
      help: 'Move a mount to another path. Its data is kept; its tokens and leases are revoked.',
      sudo: true,
      history: moveHistory({ mounts, history }),
      write: {
        summary: 'Move a mount',
        operationId: 'remount',
        required: ['from', 'to'],
        ...answers.remount,
        input: moveInput.meta({ examples: [{ from: 'cloud', to: 'team/cloud' }] }),
        handle: async ({ call, input: { from, to } }) => {
          const base = namespaceOf(call)
          const id = await mounts.moves.start(sideOf(namespaces, base, from), sideOf(namespaces, base, to))
          await mounts.moves.ended(id, shortMoveMs)
          return {
            data: { migration_id: id },
            warnings: [
              "Mount move has been queued. Progress will be reported in Gatehouse's server log, tagged with the returned migration_id",
            ],
          }
        },
      },
    }),
    resource('/remount/status/:migration_id', {
      help: 'The progress of a mount move.',
      read: {
        summary: 'Read the state of a move',
        operationId: 'remount-status',
        ...answers.migration,
        handle: async ({ params, call }) => {
          const migration = await mounts.moves.find(params.migration_id)
          return migration && concerns(migration, namespaceOf(call)) ? { data: migration } : undefined
        },
      },
    }),
  ]
}

/** docs/contract/mounts.md#listing-for-user-interfaces */
function listingResources({ mounts, namespaces, version }: MountRouteParts): Resource[] {
  const brief = ({ description, options, type }: Mount) => ({ description, options, type })

  return [
    resource('/internal/ui/mounts', {
      help: 'The mounts a user interface shows: before login the listed ones, after login also those the caller has access to.',
      caller: 'optional',
      read: {
        summary: 'List mounts for user interfaces',
        ...answers.shownMounts,
        handle: ({ mount: { namespace }, caller }) => {
          const shown = (table: MountTable) =>
            Object.fromEntries(
              mounts.table
                .list(namespace, table)
                .filter(
                  (mount) =>
                    mount.config.listing_visibility === 'unauth' ||
                    caller?.acl.mountAccess(mount.path) === true,
                )
                .map((mount) => [
                  shownPath(mount),
                  caller === undefined ? brief(mount) : mountInfo(mount, version),
                ]),
            )
          return { data: { auth: shown('auth'), secret: shown('secret') } }
        },
      },
    }),
    unknownPaths({ url: '/internal/ui/mounts/', open: true }),
    resource('/internal/ui/mounts/*', {
      help: 'The mount a path belongs to, for callers with any access to the mount.',
      caller: 'required-inside',
      read: {
        summary: 'Read the mount of a path for user interfaces',
        ...answers.mountOfPath,
        handle: ({ call, params, caller }) => {
          const base = namespaceOf(call)
          const { path } = mountPointOf(base.id, 'secret', params.rest)
          const side = sideOf(namespaces, base, path)
          const above = path.slice(0, path.length - side.path.length)
          const mount = mounts.table.resolve(side.namespace.id, side.path)?.mount
          if (mount === undefined || caller?.acl.mountAccess(above + mount.path) !== true) {
            throw refuse(
              'denied',
              `preflight capability check returned 403, please ensure client's policies grant access to path ${quoted(path)}`,
            )
          }
          return { data: { ...mountInfo(mount, version), path: above + shownPath(mount) } }
        },
      },
    }),
  ]
}
