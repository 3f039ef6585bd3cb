import type { Identity } from '../identity/identity-store.ts'
import type { Token } from '../tokens/token.ts'
import type { Audience } from './message.ts'

/** A caller as the audience of a message sees it. */
export type Viewer = {
  /** Names of policies by the namespace in which they mean something. */
  readonly policies: ReadonlyMap<string, ReadonlySet<string>>
  readonly entityIds: ReadonlySet<string>
  /** Groups the caller is in, also by way of other groups. */
  readonly groupIds: ReadonlySet<string>
}

/**
 * Who a caller is to a message's audience: the token, and the entity behind it.
 * docs/contract/messages.md#audience
 */
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
    // a message may name an entity that has been merged into the caller's since
    entityIds: new Set([token.entity_id, entity.id]),
    groupIds: new Set([groups, ...policiesByNamespace.map((set) => set.groups)].flat().map(({ id }) => id)),
  }
}

/**
 * Is a message for this caller? One hit in any list will do; an audience without a list is everyone, one with
 * empty lists nobody. A policy is hit by its name in the namespace of the message or one above (`line`): a
 * namespace below or beside it can give its own policies any name. docs/contract/messages.md#audience
 */
export function isFor(audience: Audience | undefined, viewer: Viewer, line: readonly string[]): boolean {
  if (audience === undefined) return true
  const { policies, entity_ids: entityIds, group_ids: groupIds } = audience
  if (policies === undefined && entityIds === undefined && groupIds === undefined) return true
  return (
    policies?.some((name) => line.some((namespace) => viewer.policies.get(namespace)?.has(name))) === true ||
    entityIds?.some((id) => viewer.entityIds.has(id)) === true ||
    groupIds?.some((id) => viewer.groupIds.has(id)) === true
  )
}
