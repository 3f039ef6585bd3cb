import type { IncomingMessage } from 'node:http'
import { canonicalAddress, countedAddress, parseAddress } from '../lib/address.ts'
import { networkSet } from '../lib/cidr.ts'
import type { EarlyReply } from './call.ts'
import type { ConnectionLimits } from './connections.ts'

export type ProxyRules = {
  /** Networks that may forward for a client; empty: none. */
  trusted: readonly string[]
  /** Addresses skipped from the right end of the header. */
  hops: number
  /** Refuse instead of ignoring a header from elsewhere, and a missing one. */
  required: boolean
}

const refusal = (text: string): EarlyReply => ({ kind: 'refusal', status: 400, text })

/** The client's address in its canonical spelling, or why the request is refused. */
export function clientAddressReader({
  trusted,
  hops,
  required,
}: ProxyRules): (request: IncomingMessage) => string | EarlyReply {
  if (trusted.length === 0) return peerOf
  const isTrusted = networkSet(trusted)
  return (request) => {
    const peer = peerOf(request)
    const address = parseAddress(peer)
    if (address === undefined || !isTrusted(address)) {
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

const peerOf = (request: IncomingMessage): string => canonicalAddress(request.socket.remoteAddress ?? '')

/**
 * The address that connections count for: the peer, or behind a trusted proxy the client that a request was
 * forwarded for.
 */
export function connectionCounting(
  rules: ProxyRules,
): Pick<ConnectionLimits, 'clientOfPeer' | 'clientOfRequest'> {
  const clientAddress = clientAddressReader(rules)
  const isTrusted = networkSet(rules.trusted)
  return {
    clientOfPeer: (peer) => {
      const address = rules.trusted.length === 0 ? undefined : parseAddress(peer)
      return address !== undefined && isTrusted(address) ? undefined : countedAddress(peer)
    },
    clientOfRequest: (request) => {
      const address = clientAddress(request)
      return typeof address === 'string' ? countedAddress(address) : undefined
    },
  }
}
