import { describe, expect, test } from 'vitest'
import type { Identity } from '../../../src/core/identity/entities/identity-store.ts'
import { isFor, type Viewer, viewerOf } from '../../../src/plugins/custom-messages/audience.ts'

const viewer: Viewer = {
  policies: new Map([
    ['root', new Set(['ops', 'default'])],
    ['beside', new Set(['dev'])],
  ]),
  entityIds: new Set(['e1']),
  groupIds: new Set(['g1']),
}

describe('the audience of a message', () => {
  test.each([
    { name: 'none', audience: undefined, shown: true },
    { name: 'without a list', audience: {}, shown: true },
    { name: 'a policy of the caller', audience: { policies: ['x', 'ops'] }, shown: true },
    { name: 'policies of others', audience: { policies: ['x', 'root'] }, shown: false },
    { name: 'the entity', audience: { entity_ids: ['e0', 'e1'] }, shown: true },
    { name: 'other entities', audience: { entity_ids: ['e0'] }, shown: false },
    { name: 'a group of the caller', audience: { group_ids: ['g1'] }, shown: true },
    { name: 'other groups', audience: { group_ids: ['g0'] }, shown: false },
    {
      name: 'a hit in one list of several',
      audience: { policies: ['x'], entity_ids: ['e0'], group_ids: ['g1'] },
      shown: true,
    },
    {
      name: 'no hit in any',
      audience: { policies: ['x'], entity_ids: ['e0'], group_ids: ['g0'] },
      shown: false,
    },
    { name: 'empty lists', audience: { policies: [], entity_ids: [], group_ids: [] }, shown: false },
    {
      name: 'an id in the wrong list',
      audience: { policies: ['e1', 'g1'], entity_ids: ['g1', 'ops'], group_ids: ['e1'] },
      shown: false,
    },
  ])('$name: $shown', ({ audience, shown }) => {
    expect(isFor(audience, viewer, ['root'])).toBe(shown)
  })

  test.each([
    {
      name: 'a message below the namespace of the policy',
      line: ['child', 'root'],
      policy: 'ops',
      shown: true,
    },
    { name: 'a message beside it', line: ['child', 'root'], policy: 'dev', shown: false },
    { name: 'a message above it', line: ['root'], policy: 'dev', shown: false },
    { name: 'a message in it', line: ['beside', 'root'], policy: 'dev', shown: true },
  ])('a policy matches $name: $shown', ({ line, policy, shown }) => {
    expect(isFor({ policies: [policy] }, viewer, line)).toBe(shown)
  })

  test('a caller consists of the policies of token and identity, the entity and all its groups', () => {
    const group = (id: string, namespace_id: string) => ({
      id,
      name: id,
      namespace_id,
      policies: [],
      metadata: null,
    })
    const identity = {
      entity: { id: 'e1', namespace_id: 'root' },
      policies: ['team'],
      groups: [group('g1', 'root'), group('g2', 'root')],
      policiesByNamespace: [{ namespace: 'child', names: ['local'], groups: [group('g3', 'child')] }],
      // the other fields of an entity do not matter here
    } as unknown as Identity

    const seen = viewerOf({ namespace: 'root', policies: ['default'], entity_id: 'merged' }, identity)

    expect(seen.policies).toEqual(
      new Map([
        ['root', new Set(['default', 'team'])],
        ['child', new Set(['local'])],
      ]),
    )
    expect(seen.entityIds).toEqual(new Set(['merged', 'e1']))
    expect(seen.groupIds).toEqual(new Set(['g1', 'g2', 'g3']))
  })

  test('a token without an entity matches no list of entities, not even one with an empty id', () => {
    const seen = viewerOf({ namespace: 'root', policies: [], entity_id: '' }, undefined)

    expect(isFor({ entity_ids: [''], group_ids: [''] }, seen, ['root'])).toBe(false)
  })
})
