import { IdentityTidy } from '../../core/identity/entities/identity-tidy.ts'
import { fixedPaths } from '../../core/mounts/mount-path.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { entityResources } from './entities.ts'
import { entityAliasResources } from './entity-aliases.ts'
import { groupAliasResources } from './group-aliases.ts'
import { groupResources } from './groups.ts'
import { lookupResources } from './lookup.ts'
import { mergeResources } from './merge.ts'
import { identityTokenResources } from './oidc.ts'
import { revokeTokensResources } from './revoke-tokens.ts'
import { tidyResources } from './tidy.ts'

/** The fixed mount `identity/`. docs/contract/identity.md */
export const identityPlugin: PluginDefinition = {
  table: 'secret',
  names: ['identity'],
  help: 'Who callers are: entities, their aliases at login methods, groups, and identity tokens. It is built in and cannot be removed.',
  open: (core) => {
    const { identities, tokens, tidy, systemTtl, mountOf, mounts } = core
    const identityTidy = new IdentityTidy({
      store: identities,
      tokens,
      systemTtl,
      mountOf,
      tokenMountOf: (namespace) => mounts.table.at(namespace, fixedPaths.token),
    })
    return {
      resources: [
        ...entityResources(core),
        ...entityAliasResources(core),
        ...groupResources(core),
        ...groupAliasResources(core),
        ...lookupResources(core),
        ...mergeResources(core),
        ...tidyResources({ identityTidy, mountOf }),
        ...identityTokenResources(core),
        ...revokeTokensResources({ identities, cutOffs: tokens.cutOffs, tidy }),
      ],
    }
  },
}
