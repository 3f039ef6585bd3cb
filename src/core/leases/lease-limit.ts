/** A lease, or a token, which is a lease of its login, as a rule sees it. */
export type CountedLease = {
  /** Unique among leases and tokens. */
  readonly ref: string
  /** Namespace id. */
  readonly namespace: string
  readonly mountAccessor: string
  /** Path of the request, relative to the namespace. */
  readonly path: string
  /** Role of the login; undefined if it has none. */
  readonly role: string | undefined
}

/** Limits the number of live leases. docs/contract/quotas.md#leases */
export type LeaseLimit = {
  /** Runs the write of a new lease, which says whether it was stored. Throws `throttled` if there are too many. */
  within(lease: CountedLease, write: () => Promise<boolean>): Promise<boolean>
  /** Throws `throttled` if there is no room for such a lease now. */
  check(lease: Omit<CountedLease, 'ref'>): Promise<void>
}

export const noLeaseLimit: LeaseLimit = { within: (_lease, write) => write(), check: () => Promise.resolve() }
