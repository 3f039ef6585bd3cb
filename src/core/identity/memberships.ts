import type { ViewEntry } from '../barrier/view.ts'

/** The fields of a group that its members need. */
export type MemberGroup = {
  readonly id: string
  readonly name: string
  readonly namespace_id: string
  readonly policies: readonly string[]
  readonly metadata: Readonly<Record<string, string>> | null
}

/** Groups of an entity: direct ones, and those inherited from their parents. */
export type MembershipsOf = {
  readonly direct: readonly MemberGroup[]
  readonly inherited: readonly MemberGroup[]
}

/**
 * What a write of groups changed: groups (record or parents), and entities with other memberships; `all` if
 * that is unknown.
 */
export type GroupChange =
  | { readonly groups: ReadonlySet<string>; readonly entities: ReadonlySet<string> }
  | 'all'

/** The data of a login that affects groups. */
export type GroupLogin = {
  /** Namespace of the mount and its group aliases. */
  readonly namespace: string
  readonly mountAccessor: string
  readonly entityId: string
  /** Whether the login creates the entity's record, changes it, or leaves it unchanged. */
  readonly entity: 'created' | 'changed' | 'unchanged'
  /** Group names from the provider or, for a renewal, those that matched at login. */
  readonly names: readonly string[]
}

/** The group changes of a login or renewal. docs/contract/identity.md#groups */
export type GroupRefresh = {
  /** Unique names that match a group alias; the token stores them for renewals. */
  readonly matched: readonly string[]
  /** Ids of the matched groups. */
  readonly groupIds: readonly string[]
  /** Memberships after the change. */
  readonly memberships: MembershipsOf
  /** Empty if nothing changes. */
  readonly entries: readonly ViewEntry[]
  /** Further entries. Call it once, synchronously before the write: each call increments the counts. */
  counts(): ViewEntry[]
  /** Call after the write, or after a write with an unknown outcome. */
  written(): void
}

/** Membership entries to write with a change of entities; call `written` after the write. */
export type MembershipChange = { readonly entries: readonly ViewEntry[]; written(): void }

/** The interface through which the identity store uses groups. */
export interface Memberships {
  membershipsOf(entityId: string): Promise<MembershipsOf>
  refreshForLogin(login: GroupLogin): Promise<GroupRefresh>
  /**
   * Writes the group changes of a renewal. False if a record changed in the meantime.
   * docs/contract/identity.md#groups
   */
  refresh(login: Omit<GroupLogin, 'entity'>): Promise<boolean>
  /** Removes an entity from all its groups. */
  entityGone(entityId: string): Promise<MembershipChange>
  /** Replaces `from` by `to` as members of groups. */
  entitiesMoved(from: readonly string[], to: string): Promise<MembershipChange>
}

const none: MembershipsOf = { direct: [], inherited: [] }
const noChange = async (): Promise<MembershipChange> => ({ entries: [], written: () => undefined })

/** Used where there are no groups. */
export const noMemberships: Memberships = {
  membershipsOf: async () => none,
  refreshForLogin: async () => ({
    matched: [],
    groupIds: [],
    memberships: none,
    entries: [],
    counts: () => [],
    written: () => undefined,
  }),
  refresh: async () => true,
  entityGone: noChange,
  entitiesMoved: noChange,
}
