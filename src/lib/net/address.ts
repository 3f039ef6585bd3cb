import ipaddr from 'ipaddr.js'

/** An IP address. An IPv4 address mapped into IPv6 (`::ffff:0:0/96`) is that IPv4 address. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6

export const maxAddressLength = 64

/** Parses an address; undefined if the text is not one. Drops a zone (`fe80::1%eth0`). */
export function parseAddress(text: string): Address | undefined {
  if (text.length > maxAddressLength) return undefined
  return text.includes(':') ? parseIPv6(text.replace(/%[\w.-]+$/, '')) : parseIPv4(text)
}

/** Accepts only the dotted decimal form: programs disagree about `1`, `0x7f.1` and `010.0.0.1`. */
const parseIPv4 = (text: string): ipaddr.IPv4 | undefined =>
  ipaddr.IPv4.isValidFourPartDecimal(text) && !/(?:^|\.)0\d/.test(text) ? ipaddr.IPv4.parse(text) : undefined

function parseIPv6(text: string): Address | undefined {
  const tailAt = text.lastIndexOf(':') + 1
  const tail = text.slice(tailAt)
  // the library reads `::1.2.3.4` as a mapped address, so convert the tail to hexadecimal
  const hexadecimal = tail.includes('.')
    ? parseIPv4(tail)
        ?.toIPv4MappedAddress()
        .parts.slice(6)
        .map((part) => part.toString(16))
        .join(':')
    : tail
  if (hexadecimal === undefined) return undefined
  const digits = `${text.slice(0, tailAt)}${hexadecimal}`
  if (!ipaddr.IPv6.isValid(digits)) return undefined
  const address = ipaddr.IPv6.parse(digits)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** The canonical spelling of an address, for comparisons; returns other texts unchanged. */
export function canonicalAddress(text: string): string {
  // an address without a colon has only one spelling
  return text.includes(':') ? (parseAddress(text)?.toString() ?? text) : text
}

export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || parseAddress(host)?.range() === 'loopback'

/**
 * The key under which a client's address is counted. An IPv6 client owns a /64, so its network counts. An
 * address that embeds the client's IPv4 address (NAT64, 6to4, Teredo) counts as that address, because one
 * client owns many networks in 6to4 and Teredo, and many clients share one in NAT64.
 */
export function countedAddress(text: string): string {
  if (!text.includes(':')) return text
  const address = parseAddress(text)
  if (address === undefined || !isIPv6(address)) return address?.toString() ?? text
  for (const { prefix, length, client } of transitions) {
    if (address.match(prefix, length))
      return client === undefined ? address.toString() : client(address.toByteArray()).toString()
  }
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0])}/64`
}

/**
 * The address and all others that a packet to it may reach: this machine for the unspecified address, and the
 * IPv4 addresses that a translator or tunnel extracts. For rules that deny; a rule that allows must check the
 * address alone.
 */
export function reachableAddresses(address: Address): Address[] {
  return [address, ...(isIPv6(address) ? embeddedIPv4(address) : [])].flatMap((reached) => [
    reached,
    ...thisMachine(reached),
  ])
}

const isIPv6 = (address: Address): address is ipaddr.IPv6 => address.kind() === 'ipv6'

const thisMachine = (address: Address): Address[] =>
  address.toByteArray().every((byte) => byte === 0)
    ? [ipaddr.IPv4.parse('127.0.0.1'), ipaddr.IPv6.parse('::1')]
    : []

type Bytes = readonly number[]

const ipv4At =
  (...positions: number[]) =>
  (bytes: Bytes) =>
    new ipaddr.IPv4(positions.map((position) => bytes[position] ?? 0))
const lastFourBytes = ipv4At(12, 13, 14, 15)
const inverted = (bytes: Bytes): Bytes => bytes.map((byte) => byte ^ 0xff)

type Transition = {
  readonly prefix: ipaddr.IPv6
  readonly length: number
  /** All IPv4 addresses that may be embedded. */
  readonly carried: readonly ((bytes: Bytes) => ipaddr.IPv4)[]
  /** The client's address. If undefined, each address is a separate client. */
  readonly client?: (bytes: Bytes) => ipaddr.IPv4
}

/** Networks whose addresses embed an IPv4 address. */
const transitions: readonly Transition[] = [
  // NAT64, RFC 6052 §2.1
  { prefix: ipaddr.IPv6.parse('64:ff9b::'), length: 96, carried: [lastFourBytes], client: lastFourBytes },
  // local-use NAT64, RFC 8215: the position depends on the network's prefix length, which we do not know
  // (RFC 6052 §2.2: 48, 56, 64 or 96 bits)
  {
    prefix: ipaddr.IPv6.parse('64:ff9b:1::'),
    length: 48,
    carried: [ipv4At(6, 7, 9, 10), ipv4At(7, 9, 10, 11), ipv4At(9, 10, 11, 12), lastFourBytes],
  },
  // 6to4, RFC 3056
  {
    prefix: ipaddr.IPv6.parse('2002::'),
    length: 16,
    carried: [ipv4At(2, 3, 4, 5)],
    client: ipv4At(2, 3, 4, 5),
  },
  // Teredo, RFC 4380 §4: the server, then the client with all bits inverted
  {
    prefix: ipaddr.IPv6.parse('2001::'),
    length: 32,
    carried: [ipv4At(4, 5, 6, 7), (bytes) => lastFourBytes(inverted(bytes))],
    client: (bytes) => lastFourBytes(inverted(bytes)),
  },
  // IPv4-compatible, RFC 4291 §2.5.5.1, and IPv4-translated, RFC 2765 §2.1
  { prefix: ipaddr.IPv6.parse('::'), length: 96, carried: [lastFourBytes] },
  { prefix: ipaddr.IPv6.parse('::ffff:0:0:0'), length: 96, carried: [lastFourBytes] },
]

function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray()
  const carried = transitions.flatMap((one) =>
    address.match(one.prefix, one.length) ? one.carried.map((read) => read(bytes)) : [],
  )
  // ISATAP, RFC 5214 §6.1: under any prefix; bit 0x02 says whether the IPv4 address is global
  const isIsatap = address.parts[5] === 0x5efe && ((address.parts[4] ?? 0) & ~0x200) === 0
  return isIsatap ? [...carried, lastFourBytes(bytes)] : carried
}
