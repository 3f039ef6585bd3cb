import type { RefusedConnection } from '../http/wire/tls-sockets.ts'
import { Buckets } from '../lib/concurrency/buckets.ts'
import { countedAddress } from '../lib/net/address.ts'
import type { Clock } from '../lib/system/clock.ts'
import type { Log } from '../log/log.ts'

/** Lines of one client address, so that a scanner does not hide the failures of others. */
const ofAddress = { capacity: 5, refillMs: 60_000 }
const ofAll = { capacity: 50, refillMs: 1_000 }

/** Returns what to call for each connection without a TLS handshake. docs/tls.md#tls */
export function handshakeLog(log: Log, clock: Clock): (refused: RefusedConnection) => void {
  const byAddress = new Buckets(clock, ofAddress)
  const together = new Buckets(clock, ofAll)
  let unlogged = 0
  return ({ address, reason }) => {
    if (reason === undefined) return
    if (!together.holds('') || !byAddress.take(countedAddress(address))) {
      unlogged += 1
      return
    }
    together.take('')
    log.warn(
      { event: 'tls_handshake_failed', remote_address: address, reason, unlogged },
      `a client cannot connect with TLS: ${reason}`,
    )
    unlogged = 0
  }
}
