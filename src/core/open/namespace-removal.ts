import { ownerOfMount } from '../history/change-row.ts'
import { NamespaceLife } from '../namespaces/namespace-life.ts'
import type { Stores } from './stores.ts'

/** The lifecycle of namespaces, with the core's removal steps; plugins add theirs. */
export function namespaceRemoval(stores: Stores): NamespaceLife {
  const { namespaces, mounts, random, policies, log, leases, revoker, cubbyholes, lockouts } = stores
  const life = new NamespaceLife({
    namespaces,
    mounts,
    random,
    jobs: stores.jobs,
    shared: stores.shared,
    firstEntries: (id) =>
      policies.firstEntries(id).map((entry) => ({ ...entry, key: `policy/${entry.key}` })),
    onFailure: ({ id, path }, step, err) =>
      log.error(
        { event: 'work_failed', err, namespace: id, path, step },
        'could not remove a namespace; will retry',
      ),
    onRemoved: ({ id, path }) =>
      log.info({ event: 'namespace_removed', namespace: id, path }, 'a namespace was removed'),
  })
  const { tokenRoles, identities, groups, passwordPolicies, history, policyUses } = stores
  life.addRemovalStep({ name: 'requests', phase: 'requests', remove: (id) => mounts.closeNamespace(id) })
  life.addRemovalStep({
    name: 'leases',
    phase: 'leases',
    remove: (id, { abandon }) => leases.removeNamespace(id, { byForce: abandon }),
  })
  life.addRemovalStep({
    name: 'tokens',
    phase: 'tokens',
    remove: (id) => revoker.removeNamespace(id, { hasRows: namespaces.byId(id)?.token_rows === true }),
  })
  life.addRemovalStep({
    name: 'cubbyholes',
    phase: 'data',
    remove: (id) => cubbyholes.removeNamespace(id, namespaces.ancestorIds(id)),
  })
  life.addRemovalStep({
    name: 'lockouts',
    phase: 'data',
    remove: (id) => lockouts.removeMounts(mounts.table.of(id).map(({ uuid }) => uuid)),
  })
  const data = {
    'token roles': tokenRoles,
    identities,
    groups,
    policies,
    'password policies': passwordPolicies,
    'policy uses': policyUses,
  }
  for (const [name, store] of Object.entries(data))
    life.addRemovalStep({ name, phase: 'data', remove: (id) => store.removeNamespace(id) })
  life.addRemovalStep({
    name: 'history',
    phase: 'data',
    remove: async (id) => {
      await history.removeNamespace(id)
      // also of mounts that came from another one
      for (const { uuid } of mounts.table.of(id))
        for (const owner of [uuid, ownerOfMount(uuid)]) await history.removeOwner(owner)
    },
  })
  life.addRemovalStep({
    name: 'mounts',
    phase: 'mounts',
    remove: (id, how) => mounts.removeNamespace(id, how),
  })
  return life
}
