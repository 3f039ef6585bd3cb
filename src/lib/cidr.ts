import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = readonly [address: Address, prefixLength: number]

/** The form a bound address is kept in, or the text that says why it is none. */
export type ParsedBoundCidr = { cidr: string } | { error: string }

/**
 * An address, a network (bits beyond its prefix may be set), or a UNIX socket path, which no client matches: `/32` and `/128` are cut,
 * the rest is kept as written. Contract tokens §1.10, jwt-oidc §3.2.
 */
export function parseBoundCidr(text: string): ParsedBoundCidr {
  const network = parseNetwork(text)
  if (network !== undefined) return { cidr: isHost(network) && text.includes('/') ? text.slice(0, text.indexOf('/')) : text }
  if (text.includes('/') || text.startsWith('.')) return { cidr: text }
  const shown = text.slice(0, 256)
  return { error: `error parsing address "${shown}": Unable to convert "${shown}" to an IPv4 or IPv6 address, or a UNIX Socket` }
}

/** May a peer use what is bound to these addresses? Everyone may when there are none. Contract tokens §1.10. */
export const addressMatches = (cidrs: readonly string[] | null | undefined, remoteAddress: string): boolean =>
  cidrs === null || cidrs === undefined || cidrs.length === 0 || inNetworks(remoteAddress, cidrs)

/** Whether an address lies in one of the networks; an IPv4 address mapped into IPv6 is that IPv4 address. */
export function inNetworks(address: string, cidrs: readonly string[]): boolean {
  if (cidrs.length === 0) return false
  const peer = parseAddress(address)
  return peer !== undefined && cidrs.some((cidr) => contains(cidr, peer))
}

/** What a client's address counts as where clients are counted: of IPv6 the network of 64 bits, which is what one client gets. */
export function countedAddress(address: string): string {
  const parsed = parseAddress(address)
  if (parsed === undefined) return address
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.')
}

function contains(cidr: string, peer: Address): boolean {
  const network = parseNetwork(cidr)
  if (network === undefined || network[0].kind() !== peer.kind()) return false
  return peer.match(network[0], network[1])
}

const isHost = ([address, prefixLength]: Network): boolean => prefixLength === (address.kind() === 'ipv4' ? 32 : 128)

/** An address, or a network like `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== undefined

/** Longest text of an address or network worth reading. */
const maxLength = 64

function parseNetwork(text: string): Network | undefined {
  if (text.length > maxLength) return undefined
  const [host = '', prefix, ...more] = text.split('/')
  const address = parseAddress(host)
  if (address === undefined || more.length > 0) return undefined
  const bits = address.kind() === 'ipv4' ? 32 : 128
  if (prefix === undefined) return [address, bits]
  if (!/^(?:0|[1-9]\d{0,2})$/.test(prefix)) return undefined
  // a network written as mapped IPv4 counts its bits from the start of the IPv6 form
  const length = Number(prefix) - (host.includes(':') && bits === 32 ? 96 : 0)
  return length >= 0 && length <= bits ? [address, length] : undefined
}

function parseAddress(text: string): Address | undefined {
  if (text.length > maxLength) return undefined
  // only the usual dotted form: `1`, `0x7f.1` and `010.0.0.1` mean other things to other readers
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return /(?:^|\.)0\d/.test(text) ? undefined : ipaddr.IPv4.parse(text)
  if (!text.includes(':') || !ipaddr.IPv6.isValid(text)) return undefined
  const address = ipaddr.IPv6.parse(text)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}
