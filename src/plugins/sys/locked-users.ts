import { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { Core } from '../../core/open/core.ts'
import { namespaceOf, type Resource, resource } from '../../http/resource/resource.ts'
import { stringField } from '../../lib/text/fields.ts'

const count = z.int()
const output = z.object({
  by_namespace: z.array(
    z.object({
      namespace_id: z.string(),
      namespace_path: z.string(),
      counts: count,
      mount_accessors: z.array(
        z.object({
          mount_accessor: z.string(),
          counts: count,
          alias_identifiers: z.array(z.string()).nullable(),
        }),
      ),
    }),
  ),
  total: count,
})
const example = {
  by_namespace: [
    {
      namespace_id: 'root',
      namespace_path: '',
      counts: 1,
      mount_accessors: [{ mount_accessor: 'auth_userpass_2fb84b58', counts: 1, alias_identifiers: ['bob'] }],
    },
  ],
  total: 1,
}

const listInput = z.object({
  mount_accessor: stringField
    .default('')
    .describe('Only this mount of the own namespace')
    .meta({ examples: ['auth_userpass_2fb84b58'] }),
})

/** `sys/locked-users`. docs/contract/lockout.md#locked-users */
export function lockedUserResources({
  lockouts,
  mounts,
  namespaces,
}: Pick<Core, 'lockouts' | 'mounts' | 'namespaces'>): Resource[] {
  const mountOf = ({ id }: Namespace, accessor: string): Mount | undefined => {
    const mount = mounts.table.byAccessor(accessor)
    return mount?.namespace === id ? mount : undefined
  }
  const usersOf = (accessor: string, mount: Mount | undefined) => {
    const names = mount === undefined ? [] : lockouts.lockedNames(mount)
    return {
      mount_accessor: accessor,
      counts: names.length,
      alias_identifiers: names.length === 0 ? null : names,
    }
  }
  const ofNamespace = ({ id, path }: Namespace, users: readonly ReturnType<typeof usersOf>[]) => ({
    namespace_id: id,
    namespace_path: path,
    counts: users.reduce((sum, { counts }) => sum + counts, 0),
    mount_accessors: mostFirst(users),
  })
  const allOf = (namespace: Namespace) => {
    const users = mounts.table.list(namespace.id, 'auth').map((mount) => usersOf(mount.accessor, mount))
    return ofNamespace(
      namespace,
      users.filter(({ counts }) => counts > 0),
    )
  }

  return [
    resource('/locked-users', {
      help: 'The users and role ids that wrong secrets have locked.',
      read: {
        summary: 'List the locked users',
        output,
        example,
        input: listInput,
        handle: ({ call, input: { mount_accessor: accessor } }) => {
          const own = namespaceOf(call)
          const found =
            accessor === ''
              ? mostFirst([own, ...namespaces.descendantsOf(own)].map(allOf))
              : [ofNamespace(own, [usersOf(accessor, mountOf(own, accessor))])]
          return { data: { by_namespace: found, total: found.reduce((sum, { counts }) => sum + counts, 0) } }
        },
      },
    }),
    resource('/locked-users/:mount_accessor/unlock/*name', {
      help: 'Unlock a user or a role id before its time is over.',
      write: {
        summary: 'Unlock a user or a role id',
        handle: async ({ call, params }) => {
          const mount = mountOf(namespaceOf(call), params.mount_accessor)
          if (mount !== undefined) await lockouts.unlock({ mount, name: params.name })
        },
      },
    }),
  ]
}

const mostFirst = <Counted extends { readonly counts: number }>(items: readonly Counted[]): Counted[] =>
  items.toSorted((one, other) => other.counts - one.counts)
