import { IdentityTidy } from '../../core/identity/entities/identity-tidy.ts'
import { fixedPaths } from '../../core/mounts/mount-path.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { identityResources } from './resources.ts'

/** The fixed mount `identity/`. docs/contract/identity.md */
export const identityPlugin: PluginDefinition = {
  table: 'secret',
  names: ['identity'],
  help: 'Who callers are: entities, their aliases at login methods, groups, and identity tokens. It is built in and cannot be removed.',
  open: (core) => ({
    resources: identityResources({
      ...core,
      now: () => core.clock.now(),
      cutOffs: core.tokens.cutOffs,
      identityTidy: new IdentityTidy({
        ...core,
        store: core.identities,
        tokenMountOf: (namespace) => core.mounts.table.at(namespace, fixedPaths.token),
      }),
    }),
  }),
}
