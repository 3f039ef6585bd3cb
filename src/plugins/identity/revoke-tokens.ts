import type { IdentityStore } from '../../core/identity/entities/identity-store.ts'
import type { TokenTidy } from '../../core/tokens/end/token-tidy.ts'
import type { EntityCutOffs } from '../../core/tokens/store/entity-cut-offs.ts'
import { refuse } from '../../errors.ts'
import { checkMayReach, type Resource, resource } from '../../http/resource/resource.ts'

type RevokeTokensParts = {
  readonly identities: IdentityStore
  readonly cutOffs: EntityCutOffs
  readonly tidy: Pick<TokenTidy, 'startAfresh'>
}

/** `identity/entity/id/:id/revoke-tokens`, for example when someone leaves or loses a laptop. */
export function revokeTokensResources({ identities, cutOffs, tidy }: RevokeTokensParts): Resource[] {
  /**
   * The ids of the entity and of all entities merged into it, whose tokens are now its own. Empty for an
   * unknown id and for an entity of another namespace.
   */
  const idsOf = async (id: string, namespace: string): Promise<readonly string[]> => {
    const known = await identities.identityOf(id)
    if (known?.entity.namespace_id !== namespace) return []
    return [known.entity.id, ...(known.entity.merged_entity_ids ?? [])]
  }
  return [
    resource('/entity/id/:id/revoke-tokens', {
      help: 'Revoke all tokens of an entity, their child tokens and their leases.',
      passesReadOnly: true,
      sudo: true,
      write: {
        summary: 'Revoke all tokens of an entity',
        handle: async (exchange) => {
          const { mount, params } = exchange
          // which could disable the entity
          checkMayReach(exchange, { operation: 'update', path: `entity/id/${params.id}` })
          const done = new Set<string>()
          // repeated: another entity may have been merged into it in the meantime
          for (let left = await idsOf(params.id, mount.namespace); left.length > 0; ) {
            await cutOffs.set(left)
            for (const id of left) done.add(id)
            left = (await idsOf(params.id, mount.namespace)).filter((id) => !done.has(id))
          }
          if (done.size === 0) throw refuse('missing', '')
          tidy.startAfresh()
        },
      },
    }),
  ]
}
