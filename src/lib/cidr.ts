import { type Address, maxAddressLength, parseAddress } from './address.ts'

type Network = readonly [address: Address, prefixLength: number]

/** The form a bound address is kept in, or the text that says why it is none. */
export type ParsedBoundCidr = { cidr: string } | { error: string }

/**
 * An address, a network (bits beyond its prefix may be set), or a UNIX socket path, which no client matches:
 * `/32` and `/128` are cut, the rest is kept as written. docs/contract/tokens-and-policies.md#token-roles,
 * docs/contract/jwt.md#roles.
 */
export function parseBoundCidr(text: string): ParsedBoundCidr {
  const network = parseNetwork(text)
  if (network !== undefined)
    return { cidr: isHost(network) && text.includes('/') ? text.slice(0, text.indexOf('/')) : text }
  if (text.includes('/') || text.startsWith('.')) return { cidr: text }
  const shown = text.slice(0, 256)
  return {
    error: `error parsing address "${shown}": Unable to convert "${shown}" to an IPv4 or IPv6 address, or a UNIX Socket`,
  }
}

/**
 * May a peer use what is bound to these addresses? Everyone may when there are none.
 * docs/contract/tokens-and-policies.md#token-roles
 */
export const addressMatches = (cidrs: readonly string[] | null | undefined, remoteAddress: string): boolean =>
  cidrs === null || cidrs === undefined || cidrs.length === 0 || inNetworks(remoteAddress, cidrs)

/** Whether an address lies in one of the networks; an IPv4 address mapped into IPv6 is that IPv4 address. */
export function inNetworks(address: string, cidrs: readonly string[]): boolean {
  if (cidrs.length === 0) return false
  const peer = parseAddress(address)
  return peer !== undefined && cidrs.some((cidr) => contains(cidr, peer))
}

/** As `inNetworks`, for networks that are asked about many times: they are parsed once. */
export function networkSet(cidrs: readonly string[]): (address: Address) => boolean {
  const networks = cidrs.map(parseNetwork).filter((network) => network !== undefined)
  return (address) => networks.some((network) => isInside(network, address))
}

function contains(cidr: string, peer: Address): boolean {
  const network = parseNetwork(cidr)
  return network !== undefined && isInside(network, peer)
}

const isInside = ([network, prefixLength]: Network, address: Address): boolean =>
  address.kind() === network.kind() && address.match(network, prefixLength)

const isHost = ([address, prefixLength]: Network): boolean =>
  prefixLength === (address.kind() === 'ipv4' ? 32 : 128)

/** An address, or a network like `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== undefined

function parseNetwork(text: string): Network | undefined {
  if (text.length > maxAddressLength) return undefined
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
