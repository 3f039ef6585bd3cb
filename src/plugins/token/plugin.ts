import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { tokenResources } from './resources.ts'

/** The fixed mount `auth/token/`. docs/contract/tokens-and-policies.md#tokens */
export const tokenPlugin: PluginDefinition = {
  table: 'auth',
  names: ['token'],
  help: 'Tokens, the credentials of every call: create, look up, renew and revoke them. It is built in and cannot be removed.',
  open: (core) => ({
    resources: tokenResources({
      ...core,
      identity: core.identities,
      roles: core.tokenRoles,
      renewalTerms: (token, mount) => core.mountTypes.renewalTerms(token, mount),
    }),
  }),
}
