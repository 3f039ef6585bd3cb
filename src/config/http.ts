import { z } from 'zod'
import { isNetwork } from '../lib/net/cidr.ts'
import { optional, type Setting, setting } from './setting.ts'
import { count, flag, list, text, timerDuration } from './values.ts'

const proxies = list.refine(
  (items) => items.every((item) => item === 'unix' || isNetwork(item)),
  'must be a list of networks like 10.0.0.0/8, and unix',
)

/** The listener's `host:port`; with port 0 the system chooses a port. */
export const listen = z
  .string()
  .regex(/^(?:\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):\d{1,5}$/, 'must be host:port')
  .transform((text) => ({
    host: text.slice(0, text.lastIndexOf(':')).replace(/^\[|\]$/g, ''),
    port: Number(text.slice(text.lastIndexOf(':') + 1)),
  }))
  .refine(({ port }) => port < 65536, 'must have a port below 65536')

/** What the server listens on: several addresses, of a network or Unix sockets. */
const listeners = z.string().transform((text, context) =>
  text.split(',').map((item) => {
    const address = item.trim()
    if (/^unix:./.test(address)) return { path: address.slice('unix:'.length) }
    const parsed = listen.safeParse(address)
    if (parsed.success) return parsed.data
    const [issue] = parsed.error.issues
    context.addIssue(issue?.message.replace('host:port', 'a list of host:port and unix:PATH') ?? 'is invalid')
    return z.NEVER
  }),
)

/** Octal. The owner may connect in any case. */
const socketMode = z
  .string()
  .regex(/^0?[67][0-7]{2}$/, 'must be an octal mode like 0660 that lets the owner connect')
  .transform((text) => Number.parseInt(text, 8))

const groupName = z.string().regex(/^[\w.-]{1,64}$/, 'must be the name or the number of a group')

const workers = z
  .string()
  .regex(/^(?:auto|[1-9]\d?)$/, 'must be auto or a number from 1 to 99')
  .transform((text) => (text === 'auto' ? text : Number(text)))

/** `https://gate.example.com:8200`; parsed to a string without a trailing slash. */
const origin = z
  .string()
  .transform((text) => URL.parse(text))
  .refine(
    (url) => url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`,
    'must be a URL like https://gate.example.com:8200',
  )
  .transform((url) => url?.origin ?? '')

export const httpSettings = {
  listen: setting(
    listeners,
    'LISTEN',
    '127.0.0.1:8200',
    'list of host:port and unix:PATH to listen on; a Unix socket is always plain HTTP',
  ),
  unixSocketMode: setting(
    socketMode,
    'UNIX_SOCKET_MODE',
    '0600',
    'octal mode of Unix sockets: whoever may write may connect',
  ),
  unixSocketGroup: optional(
    groupName,
    'UNIX_SOCKET_GROUP',
    "group of Unix sockets, by name or number (default: the group of the server's user)",
  ),
  workers: setting(
    workers,
    'WORKERS',
    '1',
    'number of processes that serve requests, or auto: one per core; PostgreSQL only',
  ),
  apiAddr: optional(
    origin,
    'API_ADDR',
    'public base URL of this server, part of the issuer of its identity tokens (default: the listen address)',
  ),
  tls: setting(
    z.enum(['auto', 'off']),
    'TLS',
    'auto',
    'auto: TLS if there is a certificate, otherwise plain HTTP on loopback and Unix sockets only; off: plain HTTP on any address (behind a proxy that terminates TLS)',
  ),
  tlsCertFile: optional(
    text,
    'TLS_CERT_FILE',
    'PEM file of the certificate and its chain; with it, networks are served with TLS only. SIGHUP reads it again',
  ),
  tlsKeyFile: optional(
    text,
    'TLS_KEY_FILE',
    'PEM file of the private key of that certificate. SIGHUP reads it again',
  ),
  tlsMinVersion: setting(
    z.enum(['1.2', '1.3']),
    'TLS_MIN_VERSION',
    '1.2',
    'lowest version of TLS: 1.2 or 1.3',
  ),
  tlsClientCaFile: optional(
    text,
    'TLS_CLIENT_CA_FILE',
    'PEM file of the authorities of client certificates. SIGHUP reads it again',
  ),
  tlsClientAuth: setting(
    z.enum(['optional', 'require']),
    'TLS_CLIENT_AUTH',
    'optional',
    'optional: a client certificate must be valid if there is one; require: a client without one is refused',
  ),
  http2: setting(flag, 'HTTP2', 'true', 'whether clients that use TLS may choose HTTP/2'),
  ui: setting(flag, 'UI', 'true', 'whether the web UI is served, under /ui'),
  customHeadersFile: optional(
    text,
    'CUSTOM_HEADERS_FILE',
    'JSON file of headers to add to responses: status (default, 4xx, 404) to header name to value. SIGHUP reads it again',
  ),
  trustedProxies: setting(
    proxies,
    'TRUSTED_PROXIES',
    '',
    'networks that may send X-Forwarded-For; unix: so may the peers of Unix sockets',
  ),
  trustedProxyHops: setting(
    count,
    'TRUSTED_PROXY_HOPS',
    '0',
    'number of addresses to skip at the right end of X-Forwarded-For',
  ),
  trustedProxyRequired: setting(
    flag,
    'TRUSTED_PROXY_REQUIRED',
    'false',
    'true: refuse requests that do not come from a trusted proxy',
  ),
  drainDelayMs: setting(
    timerDuration,
    'DRAIN_DELAY',
    '0s',
    'how long a stopping server still accepts requests while it reports not ready',
  ),
  stopTimeoutMs: setting(
    timerDuration,
    'STOP_TIMEOUT',
    '30s',
    'time limit for requests in progress when the server stops',
  ),
} satisfies Record<string, Setting>
