import type { HistoryStore } from '../../core/history/history-store.ts'
import { mountTtl, type TtlBounds } from '../../core/tokens/store/lifetime.ts'
import {
  changedTokenRole,
  shownTokenRole,
  tokenRoleFields,
  tokenRoleWarnings,
} from '../../core/tokens/store/token-role.ts'
import type { TokenRoleStore } from '../../core/tokens/store/token-role-store.ts'
import { refuse } from '../../errors.ts'
import { nameList, type Resource, resource, warned } from '../../http/resource/resource.ts'
import { answers } from './answers.ts'

type TokenRoleParts = {
  readonly roles: TokenRoleStore
  readonly history: HistoryStore
  readonly systemTtl: TtlBounds
}

/** `auth/token/roles`. docs/contract/tokens-and-policies.md#token-roles */
export function tokenRoleResources({ roles, history: store, systemTtl }: TokenRoleParts): Resource[] {
  return [
    nameList('/roles', {
      help: 'List token roles.',
      summary: 'List token roles',
      names: ({ namespace }) => roles.names(namespace),
    }),
    resource('/roles/:role_name', {
      help: 'A token role: the properties of tokens created with it.',
      history: {
        store,
        record: ({ mount, params }) => roles.recordKey(mount.namespace, params.role_name),
        path: ({ params }) => `roles/${params.role_name}`,
        form: async ({ mount, params }) => {
          const role = await roles.find(mount.namespace, params.role_name)
          return role && shownTokenRole(role)
        },
      },
      exists: async ({ mount, params }) =>
        (await roles.find(mount.namespace, params.role_name)) !== undefined,
      read: {
        summary: 'Read a token role',
        ...answers.role,
        handle: async ({ mount, params }) => {
          const role = await roles.find(mount.namespace, params.role_name)
          return role === undefined ? undefined : { data: shownTokenRole(role) }
        },
      },
      write: {
        summary: 'Create or change a token role',
        ...answers.maybeWarned,
        input: tokenRoleFields,
        handle: async ({ mount, params, input, sent }) => {
          if (sent.token_type === null) throw refuse('invalid', "Invalid 'token_type' value: null")
          const role = await roles.change(mount.namespace, params.role_name, (before) =>
            changedTokenRole(before, input),
          )
          return warned(tokenRoleWarnings(role.record, input, mountTtl(mount.config, systemTtl).maxTtl))
        },
      },
      delete: {
        summary: 'Delete a token role',
        handle: ({ mount, params }) => roles.remove(mount.namespace, params.role_name),
      },
    }),
  ]
}
