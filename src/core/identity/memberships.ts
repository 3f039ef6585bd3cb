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

/** What a change of entities means for groups: records to write with it, and what to do once they are written. */
export type MembershipChange = { readonly entries: readonly ViewEntry[]; written(): void }

/** Which groups an entity is in: what entities need to know of groups. */
export interface Memberships {
  membershipsOf(entityId: string): Promise<MembershipsOf>
  /** The entity leaves all its groups. */
  entityGone(entityId: string): Promise<MembershipChange>
  /** Wherever one of `from` is a member, `to` is from now on, and they are not. */
  entitiesMoved(from: readonly string[], to: string): Promise<MembershipChange>
}

const noChange = async (): Promise<MembershipChange> => ({ entries: [], written: () => undefined })

/** A house without groups. */
export const noMemberships: Memberships = {
  membershipsOf: async () => ({ direct: [], inherited: [] }),
  entityGone: noChange,
  entitiesMoved: noChange,
}
