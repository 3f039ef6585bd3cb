import { isLoopbackHost } from '../../../lib/net/address.ts'

/**
 * The parts of a URI as written. Nothing is decoded, lower-cased or normalised, so the comparison sees what
 * the browser gets.
 */
type Uri = {
  readonly scheme: string
  readonly userInfo: string
  /** Without brackets. */
  readonly host: string
  /** With its `:`; or empty. */
  readonly port: string
  /** What follows the authority, without query and fragment. */
  readonly path: string
  /** With its `?`, or empty. */
  readonly query: string
  /** With its `#`, or empty. */
  readonly fragment: string
  readonly hasAuthority: boolean
}

// RFC 3986 appendix B, with a scheme that is one
const parts = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/
const relative = /^(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/
const authorityParts = /^(?:(.*)@)?(\[[0-9A-Fa-f:.]+\]|[^:@[\]]*)(:[0-9]*)?$/
const notInUri = /[\u0000-\u001f\u007f]|%(?![0-9A-Fa-f]{2})/
const notInHost = /[\s"<>\\^`{|}]/

/** Longest redirect URI, because a login stores it. */
const maxLength = 8192

/** Undefined for a text that is not a URI. */
function parseUri(text: string): Uri | undefined {
  if (text.length > maxLength) return undefined
  const query = text.indexOf('?')
  // a query may contain anything except control characters
  if (notInUri.test(query < 0 ? text : text.slice(0, query)) || /[\r\n\t\0]/.test(text)) return undefined
  const match = parts.exec(text)
  const [scheme = '', authority, path = '', search = '', fragment = ''] = match?.slice(1) ?? [
    '',
    ...(relative.exec(text)?.slice(1) ?? []),
  ]
  if (match === null && /^[^/?#]*:/.test(text)) return undefined
  const inside = authorityParts.exec(authority ?? '')
  if (inside === null) return undefined
  const [, userInfo = '', host = '', port = ''] = inside
  if (notInHost.test(host)) return undefined
  return {
    scheme,
    userInfo,
    host: host.replace(/^\[|\]$/g, ''),
    port,
    path,
    query: search,
    fragment,
    hasAuthority: authority !== undefined,
  }
}

/**
 * A loopback URI matches with any port, and otherwise exactly; any other URI matches as a whole, ignoring
 * case. docs/contract/oidc.md#the-authorization-url
 */
export function isAllowedRedirect(redirectUri: string, allowed: readonly string[]): boolean {
  const asked = parseUri(redirectUri)
  if (asked === undefined) return false
  if (!isLoopbackHost(asked.host)) {
    const folded = redirectUri.toLowerCase()
    return allowed.some((uri) => uri.toLowerCase() === folded)
  }
  for (const text of allowed) {
    const uri = parseUri(text)
    if (uri === undefined) return false
    if (isSameButPort(asked, uri)) return true
  }
  return false
}

const isSameButPort = (one: Uri, other: Uri): boolean =>
  one.scheme === other.scheme &&
  one.userInfo === other.userInfo &&
  one.host === other.host &&
  one.path === other.path &&
  one.query === other.query &&
  one.fragment === other.fragment &&
  one.hasAuthority === other.hasAuthority

/**
 * The namespace in a redirect URI's query, and the URI without it, with the rest of the query sorted and
 * encoded again. A URI without a namespace is unchanged. Undefined if it is not a URI.
 * docs/contract/oidc.md#the-authorization-url
 */
export function takeNamespace(
  redirectUri: string,
): { readonly uri: string; readonly namespace: string } | undefined {
  const uri = parseUri(redirectUri)
  if (uri === undefined) return undefined
  const fields = new URLSearchParams(uri.query)
  const namespace = fields.get('namespace') ?? ''
  if (namespace === '') return { uri: redirectUri, namespace: '' }
  fields.delete('namespace')
  fields.sort()
  const query = fields.size === 0 ? '' : `?${fields.toString()}`
  const head = redirectUri.slice(0, redirectUri.length - uri.query.length - uri.fragment.length)
  return { uri: `${head}${query}${uri.fragment}`, namespace }
}

const compared = ['scheme', 'userInfo', 'host', 'path', 'query', 'fragment'] as const
const shownParts: Readonly<Record<string, string>> = { userInfo: 'user information' }

/**
 * The parts in which a URI differs from the nearest allowed one, for a person: `path`, `host, path`. "" if no
 * allowed one can be compared.
 */
export function redirectDifference(redirectUri: string, allowed: readonly string[]): string {
  const asked = parseUri(redirectUri)
  if (asked === undefined) return ''
  const portOf = ({ port }: Uri) => (isLoopbackHost(asked.host) ? '' : port)
  const differences = allowed.slice(0, maxCompared).flatMap((text) => {
    const uri = parseUri(text)
    if (uri === undefined) return []
    const parts = compared
      .filter((part) => asked[part].toLowerCase() !== uri[part].toLowerCase())
      .map((part) => shownParts[part] ?? part)
    return [portOf(asked) === portOf(uri) ? parts : [...parts, 'port']]
  })
  return differences.toSorted((one, other) => one.length - other.length)[0]?.join(', ') ?? ''
}

const maxCompared = 100

/**
 * Whether a command line on the person's own machine listens at this address (RFC 8252 §7.3), so that it
 * receives a provider's form itself. The callback of a Gatehouse at a loopback address does not count: there
 * the browser posts to the server.
 */
export function isCommandLine(redirectUri: string): boolean {
  const uri = parseUri(redirectUri)
  if (uri === undefined || !/^https?$/i.test(uri.scheme) || !isLoopbackHost(uri.host)) return false
  return !/(?:^|\/)auth\/.+\/oidc\/callback\/?$/i.test(uri.path)
}

/**
 * Where a provider posts its form: to the API beside the UI's page, not to the page.
 * docs/contract/oidc.md#the-authorization-url
 */
export const formTarget = (redirectUri: string): string => redirectUri.replace('ui/vault', 'v1')

/**
 * The first segment of the mount to which a form's redirect URI leads.
 * docs/contract/oidc.md#the-page-of-a-form
 */
export const mountInPath = (redirectUri: string): string | undefined =>
  /v1\/auth\/([^/?#]+)/.exec(redirectUri)?.[1]

/** A browser is sent there, so a provider's metadata must not yield any other kind of URL. */
export const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url)
