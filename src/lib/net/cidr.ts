import { type Address, maxAddressLength, parseAddress } from './address.ts'

type Network = readonly [address: Address, prefixLength: number]

/** A bound address as it is stored, or why the text is not one. */
export type ParsedBoundCidr = { cidr: string } | { error: string }

/**
 * Parses an address, a network (host bits may be set), or a UNIX socket path, which no client matches. `/32`
 * and `/128` are removed; everything else is kept as written.
 * docs/contract/tokens-and-policies.md#settings-of-login-tokens.
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
 * Whether a peer may use something that is bound to these networks. With no networks, everyone may. An IPv4
 * address mapped into IPv6 is that IPv4 address. docs/contract/tokens-and-policies.md#token-roles
 */
export function addressMatches(cidrs: readonly string[] | null | undefined, remoteAddress: string): boolean {
  if (cidrs === null || cidrs === undefined || cidrs.length === 0) return true
  const peer = parseAddress(remoteAddress)
  return peer !== undefined && cidrs.some((cidr) => isInside(parseNetwork(cidr), peer))
}

/** A predicate for networks that are checked many times: they are parsed once. */
export function networkSet(cidrs: readonly string[]): (address: Address) => boolean {
  const networks = cidrs.map(parseNetwork)
  return (address) => networks.some((network) => isInside(network, address))
}

/** Whether the text is a network with its prefix length: an address alone is none. */
export const isBlock = (text: string): boolean => text.includes('/') && isNetwork(text)

export function areWithin(blocks: readonly string[], outer: readonly string[]): boolean {
  const outerNetworks = outer.map(parseNetwork)
  return blocks.every((block) => {
    const inner = parseNetwork(block)
    return inner !== undefined && outerNetworks.some((network) => contains(network, inner))
  })
}

const contains = (network: Network | undefined, [address, prefixLength]: Network): boolean =>
  network !== undefined && prefixLength >= network[1] && isInside(network, address)

const isInside = (network: Network | undefined, address: Address): boolean =>
  network !== undefined && address.kind() === network[0].kind() && address.match(network[0], network[1])

const isHost = ([address, prefixLength]: Network): boolean =>
  prefixLength === (address.kind() === 'ipv4' ? 32 : 128)

/** Whether the text is an address or a network like `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== undefined

function parseNetwork(text: string): Network | undefined {
  if (text.length > maxAddressLength) return undefined
  const [host = '', prefix, ...more] = text.split('/')
  // the zone of a peer is not known, so such a network would have more members than it says
  if (host.includes('%')) return undefined
  const address = parseAddress(host)
  if (address === undefined || more.length > 0) return undefined
  const bits = address.kind() === 'ipv4' ? 32 : 128
  if (prefix === undefined) return [address, bits]
  if (!/^(?:0|[1-9]\d{0,2})$/.test(prefix)) return undefined
  // the prefix of a mapped IPv4 network counts bits from the start of the IPv6 form
  const length = Number(prefix) - (host.includes(':') && bits === 32 ? 96 : 0)
  return length >= 0 && length <= bits ? [address, length] : undefined
}
