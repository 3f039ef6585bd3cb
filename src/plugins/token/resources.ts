import type { IdentityStore } from '../../core/identity/entities/identity-store.ts'
import type { CreateParts } from '../../core/tokens/acts/create-token.ts'
import type { RenewParts } from '../../core/tokens/acts/renew-token.ts'
import type { TokenRevoker } from '../../core/tokens/end/token-revoker.ts'
import type { TokenTidy } from '../../core/tokens/end/token-tidy.ts'
import type { TokenRoleStore } from '../../core/tokens/store/token-role-store.ts'
import type { Resource } from '../../http/resource/resource.ts'
import { accessorResources } from './accessors.ts'
import { createResources } from './create.ts'
import { lookupResources } from './lookup.ts'
import { renewResources } from './renew.ts'
import { revokeResources } from './revoke.ts'
import { tokenRoleResources } from './roles.ts'

export type TokenPluginParts = CreateParts &
  RenewParts & {
    readonly identity: IdentityStore
    readonly revoker: TokenRevoker
    readonly roles: TokenRoleStore
    readonly tidy: TokenTidy
    readonly mostListBytes: number
  }

/** `auth/token/*`. docs/contract/tokens-and-policies.md#tokens */
export const tokenResources = (parts: TokenPluginParts): Resource[] => [
  ...createResources(parts),
  ...lookupResources(parts),
  ...renewResources(parts),
  ...revokeResources(parts),
  ...tokenRoleResources(parts),
  ...accessorResources(parts),
]
