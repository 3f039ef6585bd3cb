import type { ViewEntry } from '../barrier/view.ts'

/** A group as those see it who are in it. */
export type MemberGroup = {
  readonly id: string
  readonly name: string
  readonly namespace_id: string
  readonly policies: readonly string[]
  readonly metadata: Readonly<Record<string, string>> | null
}

/** Groups an entity is in: by itself, and by a group that is a member of another. */
export type MembershipsOf = { readonly direct: readonly MemberGroup[]; readonly inherited: readonly MemberGroup[] }

/** A login, as far as groups go. */
export type GroupLogin = {
  /** Of the mount, and so of its group aliases. */
  readonly namespace: string
  readonly mountAccessor: string
  readonly entityId: string
  /** What becomes of the entity's record: made, changed, or left as it is by the login itself. */
  readonly entity: 'made' | 'changed' | 'kept'
  /** What the provider calls the groups of the caller, or what matched when the token was issued. */
  readonly names: readonly string[]
}

/** What a login or renewal does to the groups of its entity. docs/contract/identity.md#groups */
export type GroupRefresh = {
  /** Names that stand for a group here, each once: what a renewal of the token looks at. */
  readonly matched: readonly string[]
  /** Ids of the groups those names stand for. */
  readonly groupIds: readonly string[]
  /** The groups afterwards. */
  readonly memberships: MembershipsOf
  /** Empty when nothing changes. */
  readonly entries: readonly ViewEntry[]
  /** Further entries, to be asked for once, in the same turn as the write is given to storage: each time they count on. */
  counts(): ViewEntry[]
  /** To be called once they are written, or when it is not known whether they were. */
  written(): void
}

/** What a change of entities means for groups: records to write with it, and what to do once they are written. */
export type MembershipChange = { readonly entries: readonly ViewEntry[]; written(): void }

/** Which groups an entity is in: what entities need to know of groups. */
export interface Memberships {
  /** Work that ends entities, in turn with writes of groups, so that none of them gets a member that is on its way out. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
  membershipsOf(entityId: string): Promise<MembershipsOf>
  refreshForLogin(login: GroupLogin): Promise<GroupRefresh>
  /** The refresh of a renewal, a write of its own; false: someone else was quicker. docs/contract/identity.md#groups */
  refresh(login: Omit<GroupLogin, 'entity'>): Promise<boolean>
  /** The entity leaves all its groups. */
  entityGone(entityId: string): Promise<MembershipChange>
  /** Wherever one of `from` is a member, `to` is from now on, and they are not. */
  entitiesMoved(from: readonly string[], to: string): Promise<MembershipChange>
}

const none: MembershipsOf = { direct: [], inherited: [] }
const noChange = async (): Promise<MembershipChange> => ({ entries: [], written: () => undefined })

/** A house without groups. */
export const noMemberships: Memberships = {
  inTurn: (work) => work(),
  membershipsOf: async () => none,
  refreshForLogin: async () => ({ matched: [], groupIds: [], memberships: none, entries: [], counts: () => [], written: () => undefined }),
  refresh: async () => true,
  entityGone: noChange,
  entitiesMoved: noChange,
}
