import type { LeasedSecret } from '../../core/leases/lease.ts'
import type { LeaseStore } from '../../core/leases/lease-store.ts'
import { fixedPaths } from '../../core/mounts/mount-path.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { Announcements } from '../../core/settings/announcements.ts'
import type { WrappedResponse, Wrapper } from '../../core/wrapping/wrapper.ts'
import { refuse } from '../../errors.ts'
import { Buckets } from '../../lib/concurrency/buckets.ts'
import { countedAddress } from '../../lib/net/address.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import { taintedRefusal } from '../steps/admission.ts'
import type { MadeByCall } from './audit-trail.ts'
import type { Call } from './call.ts'

export type HostParts = {
  readonly mounts: Pick<MountStore, 'enter' | 'enterRemoved'>
  readonly leases: Pick<LeaseStore, 'issue' | 'revoke'>
  readonly wrapper: Pick<Wrapper, 'wrap'>
  readonly announcements: Pick<Announcements, 'bannerFor'>
  readonly clock: Clock
  /** Revokes, in the background, a token that nobody will use. */
  discard(accessor: string): void
  readonly log: { readonly error: LogLine }
}

/** Paths whose response carries a new token; others of the token mount return one that exists. */
const tokenCreation = `${fixedPaths.token}create`

/** The core's part around a handler: it enters the mount, gives a secret a lease, and wraps a response. */
export function coreHost({ mounts, leases, wrapper, announcements, clock, discard, log }: HostParts) {
  /** Responses wrapped for clients without a token, by address. */
  const wrapsOfStrangers = new Buckets(clock, { capacity: 10, refillMs: 6000 })

  /** Revokes a new token or secret that its caller will not receive. */
  async function takeBack(
    call: Call,
    { accessor = '', leaseId, wrappingAccessor }: MadeByCall,
  ): Promise<void> {
    if (wrappingAccessor !== undefined) discard(wrappingAccessor)
    const isNew = call.caller === undefined || call.path.startsWith(tokenCreation)
    if (isNew && accessor !== '') discard(accessor)
    if (leaseId === undefined) return
    await leases
      .revoke({ namespace: namespaceOf(call), id: leaseId }, { sync: true })
      .catch((err: unknown) =>
        log.error(
          { event: 'secret_undelivered', err },
          'an undelivered secret remains valid until its lease ends',
        ),
      )
  }

  return {
    takeBack,
    /** Counts a request as inside its mount until the returned function is called. */
    enter: (call: Call): (() => void) => {
      const { mount } = call
      // a mount that is being removed only gets the requests that it still serves
      const leave = mount?.tainted === true ? mounts.enterRemoved(mount) : mount && mounts.enter(mount)
      if (leave === undefined) throw taintedRefusal(call)
      return leave
    },
    /** Gives a secret a lease that ends with the caller's token. If that fails, revokes the secret and throws. */
    lease: ({ caller, mount, path }: Call, secret: LeasedSecret) => {
      if (caller === undefined || mount === undefined) throw new Error('a secret was made without a caller')
      return leases.issue({ caller, mount, path, secret })
    },
    /** A warning about the banner that the caller is shown, unless it was told. Never rejects. */
    bannerFor: ({ caller, namespace }: Call) =>
      // a response does not depend on it
      caller && namespace && announcements.bannerFor(caller, namespace)?.catch(() => undefined),
    /** Stores a response behind a wrapping token. If that fails, revokes what the call has created. */
    wrap: async (call: Call, response: WrappedResponse, made: MadeByCall) => {
      // a login costs a credential; looking at a wrapped response does not
      const isFree = call.wrapsForStranger && made.accessor === undefined
      if (isFree && !wrapsOfStrangers.take(countedAddress(call.remoteAddress)))
        throw refuse('throttled', 'too many responses were wrapped for a client without a token')
      const { path, wrapTtl: ttl } = call
      const wrapped = {
        namespace: namespaceOf(call),
        path,
        ttl,
        ...response,
        wrappedAccessor: made.accessor ?? made.secretAccessor ?? '',
      }
      try {
        return await wrapper.wrap(wrapped)
      } catch (error) {
        await takeBack(call, made)
        throw error
      }
    },
  }
}

/** What a request needs around its handler. */
export type Host = ReturnType<typeof coreHost>

const namespaceOf = ({ namespace }: Call): string => namespace?.id ?? 'root'
