import type { Identity } from '../../core/identity/entities/identity-store.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import type { Audience } from './message.ts'

export type Viewer = {
  /** Policy names by namespace id. */
  readonly policies: ReadonlyMap<string, ReadonlySet<string>>
  readonly entityIds: ReadonlySet<string>
  /** Direct and inherited groups. */
  readonly groupIds: ReadonlySet<string>
}

/** The viewer behind a token and its entity. docs/contract/messages.md#audience */
export function viewerOf(
  token: Pick<Token, 'namespace' | 'policies' | 'entity_id'>,
  identity: Identity | undefined,
): Viewer {
  const policies = new Map<string, Set<string>>()
  const add = (namespace: string, names: readonly string[]) => {
    const known = policies.get(namespace)
    if (known === undefined) policies.set(namespace, new Set(names))
    else for (const name of names) known.add(name)
  }
  add(token.namespace, token.policies)
  if (identity === undefined) return { policies, entityIds: new Set(), groupIds: new Set() }
  const { entity, groups, policiesByNamespace } = identity
  add(entity.namespace_id, identity.policies)
  for (const { namespace, names } of policiesByNamespace) add(namespace, names)
  return {
    policies,
    // a message may name an entity that has since been merged into the caller's
    entityIds: new Set([token.entity_id, entity.id]),
    groupIds: new Set([groups, ...policiesByNamespace.map((set) => set.groups)].flat().map(({ id }) => id)),
  }
}

/**
 * Whether the audience includes the viewer. One match in any list suffices. An audience without lists
 * includes everyone; one whose lists are all empty includes nobody. A policy counts only if it belongs to the
 * message's namespace or one above (`lineage`), because other namespaces may use any policy name.
 * docs/contract/messages.md#audience
 */
export function isFor(audience: Audience | undefined, viewer: Viewer, lineage: readonly string[]): boolean {
  if (audience === undefined) return true
  const { policies, entity_ids: entityIds, group_ids: groupIds } = audience
  if (policies === undefined && entityIds === undefined && groupIds === undefined) return true
  return (
    policies?.some((name) => lineage.some((namespace) => viewer.policies.get(namespace)?.has(name))) ===
      true ||
    entityIds?.some((id) => viewer.entityIds.has(id)) === true ||
    groupIds?.some((id) => viewer.groupIds.has(id)) === true
  )
}
