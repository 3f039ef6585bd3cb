import type { Resource } from '../../http/resource/resource.ts'
import { type EntityParts, entityResources } from './entities.ts'
import { entityAliasResources } from './entity-aliases.ts'
import { groupAliasResources } from './group-aliases.ts'
import { groupLookupResources } from './group-lookup.ts'
import { type GroupPluginParts, groupResources } from './groups.ts'
import { lookupResources } from './lookup.ts'
import { mergeResources } from './merge.ts'
import { identityTokenResources } from './oidc.ts'
import type { IdentityTokenParts } from './oidc-place.ts'
import { type RevokeTokensParts, revokeTokensResources } from './revoke-tokens.ts'
import { type TidyRouteParts, tidyResources } from './tidy.ts'

export type IdentityPluginParts = EntityParts &
  TidyRouteParts &
  GroupPluginParts &
  IdentityTokenParts &
  RevokeTokensParts

/** `identity/*`: entities, groups, aliases and identity tokens. docs/contract/identity.md */
export function identityResources(parts: IdentityPluginParts): Resource[] {
  return [
    ...entityResources(parts),
    ...entityAliasResources(parts),
    ...lookupResources(parts),
    ...groupResources(parts),
    ...groupAliasResources(parts),
    ...groupLookupResources(parts),
    ...mergeResources(parts),
    ...tidyResources(parts),
    ...identityTokenResources(parts),
    ...revokeTokensResources(parts),
  ]
}
