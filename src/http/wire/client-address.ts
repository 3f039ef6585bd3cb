import type { IncomingMessage } from 'node:http'
import { canonicalAddress, countedAddress, parseAddress } from '../../lib/net/address.ts'
import { networkSet } from '../../lib/net/cidr.ts'
import type { EarlyReply } from '../exchange/call.ts'
import type { ConnectionLimits } from './connections.ts'

export type ProxyRules = {
  /** Networks that may forward for a client, or `unix` for the peers of Unix sockets; empty: none. */
  trusted: readonly string[]
  /** Addresses skipped from the right end of the header. */
  hops: number
  /** Refuse instead of ignoring a header from elsewhere, and a missing one. */
  required: boolean
}

/** What tells the address of a request. */
type Addressed = Pick<IncomingMessage, 'headers' | 'socket'>

/** Stands for the peers of Unix sockets among networks. */
const unixPeers = 'unix'

const refusal = (text: string): EarlyReply => ({ kind: 'refusal', status: 400, text })

/** The client's address in its canonical spelling, or why the request is refused. */
export function clientAddressReader({
  trusted,
  hops,
  required,
}: ProxyRules): (request: Addressed) => string | EarlyReply {
  if (trusted.length === 0) return peerOf
  const isTrusted = trustedPeers(trusted)
  return (request) => {
    const peer = peerOf(request)
    if (!isTrusted(peer)) {
      return required
        ? refusal('client address not authorized for x-forwarded-for and configured to reject connection')
        : peer
    }
    const header = request.headers['x-forwarded-for']
    if (header === undefined || header.length === 0) {
      return required
        ? refusal('missing x-forwarded-for header and configured to reject when not present')
        : peer
    }
    const addresses = String(header).split(',')
    const chosen = addresses[addresses.length - 1 - hops]?.trim()
    if (chosen === undefined)
      return refusal(
        'malformed x-forwarded-for configuration or request, hops to skip larger than x-forwarded-for header length',
      )
    return parseAddress(chosen)?.toString() ?? refusal('malformed x-forwarded-for header, not an address')
  }
}

const peerOf = (request: Addressed): string => canonicalAddress(request.socket.remoteAddress ?? '')

/** Whether a peer may forward for clients. A peer of a Unix socket has no address. */
function trustedPeers(trusted: readonly string[]): (peer: string) => boolean {
  const isInside = networkSet(trusted.filter((item) => item !== unixPeers))
  const trustsUnix = trusted.includes(unixPeers)
  return (peer) => {
    if (peer === '') return trustsUnix
    const address = parseAddress(peer)
    return address !== undefined && isInside(address)
  }
}

/**
 * The address that connections count for: the peer, or behind a trusted proxy the client that a request was
 * forwarded for.
 */
export function connectionCounting(
  rules: ProxyRules,
): Pick<ConnectionLimits, 'clientOfPeer' | 'clientOfRequest'> {
  const clientAddress = clientAddressReader(rules)
  const isTrusted = trustedPeers(rules.trusted)
  return {
    clientOfPeer: (peer) => (rules.trusted.length > 0 && isTrusted(peer) ? undefined : countedAddress(peer)),
    clientOfRequest: (request) => {
      const address = clientAddress(request)
      return typeof address === 'string' ? countedAddress(address) : undefined
    },
  }
}
