import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { accessorResources } from './accessors.ts'
import { createResources } from './create.ts'
import { lookupResources } from './lookup.ts'
import { renewResources } from './renew.ts'
import { revokeResources } from './revoke.ts'
import { tokenRoleResources } from './roles.ts'

/** The fixed mount `auth/token/`. docs/contract/tokens-and-policies.md#tokens */
export const tokenPlugin: PluginDefinition = {
  table: 'auth',
  names: ['token'],
  help: 'Tokens, the credentials of every call: create, look up, renew and revoke them. It is built in and cannot be removed.',
  open: (core) => {
    const { tokens, revoker, identities: identity, tokenRoles: roles, view, systemTtl, clock } = core
    const { mountOf, policyExists, mountTypes, history } = core
    return {
      resources: [
        ...createResources({ tokens, revoker, identity, view, systemTtl, clock, policyExists, roles }),
        ...lookupResources(core),
        ...renewResources({
          tokens,
          identity,
          roles,
          systemTtl,
          clock,
          mountOf,
          renewalTerms: (token, mount) => mountTypes.renewalTerms(token, mount),
        }),
        ...revokeResources(core),
        ...tokenRoleResources({ roles, history, systemTtl }),
        ...accessorResources(core),
      ],
    }
  },
}
