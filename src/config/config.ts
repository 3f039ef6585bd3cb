import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { z } from 'zod'
import { shownPath, tableOf } from '../core/mounts/mount-path.ts'
import { isLoopbackHost } from '../lib/net/address.ts'
import { isNetwork } from '../lib/net/cidr.ts'
import { parsePostgresUrl } from '../lib/net/postgres-url.ts'
import { systemReason } from '../lib/system/private-file.ts'
import { placeOf, realPathOf } from '../lib/system/real-path.ts'
import {
  authTypes,
  type EnvironmentSettings,
  isEnvironmentName,
} from '../plugins/cloud/upstream/environments.ts'

/** A setting is invalid. The process logs the message and exits with code 2. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

const durationUnits: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const sizeUnits: Record<string, number> = { '': 1, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

const text = z.string().min(1, 'must not be empty')
const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
const count = z
  .string()
  .regex(/^\d{1,12}$/, 'must be a whole number')
  .transform(Number)
/** `500ms`, `10s`, `24h`; parsed to milliseconds. */
const duration = z
  .string()
  .regex(/^\d{1,9}(?:ms|s|m|h|d)$/, 'must be a duration like 500ms, 10s or 24h')
  .transform((text) => Number.parseInt(text, 10) * (durationUnits[text.replace(/^\d+/, '')] ?? 0))
const maxTimerMs = 2 ** 31 - 1
/** A duration that a Node.js timer can wait for. */
const timerDuration = duration.refine((ms) => ms <= maxTimerMs, 'must be at most 24d')
/** A duration that the API reports in whole seconds. */
const lifetime = duration.refine((ms) => ms >= 1000, 'must be at least 1s')
/** `32MiB`; parsed to bytes. */
const size = z
  .string()
  .regex(/^\d{1,9}(?:\.\d{1,3})?(?:B|KiB|MiB|GiB)?$/, 'must be a size like 512KiB or 32MiB')
  .transform((text) => Math.round(Number.parseFloat(text) * (sizeUnits[text.replace(/^[\d.]+/, '')] ?? 0)))
/** `10%`; parsed to a fraction. */
const share = z
  .string()
  .regex(/^\d{1,3}(?:\.\d{1,3})?%$/, 'must be a percentage like 10%')
  .transform((text) => Number.parseFloat(text) / 100)
  .refine((part) => part > 0 && part <= 1, 'must be above 0% and at most 100%')
/** An amount that must not be 0, because the server could then serve no request. */
const positive = <Schema extends z.ZodType<number>>(schema: Schema) =>
  schema.refine((amount) => amount > 0, 'must be above 0')
/** `10/1m`: a number of refused logins, and the time in which they count. */
const loginFailures = z.string().transform((text, context) => {
  if (text === 'off') return undefined
  const [most = '', time = '', ...rest] = text.split('/')
  const [limit, span] = [positive(count).safeParse(most), lifetime.safeParse(time)]
  if (limit.success && span.success && rest.length === 0) return { count: limit.data, durationMs: span.data }
  const message = 'must be off or a number and a duration like 10/1m'
  context.issues.push({ code: 'custom', message, input: text })
  return z.NEVER
})
/** `5/15m/15m`: a number of wrong secrets, how long they lock a user, and the time in which they count. */
const userLockout = z.string().transform((text, context) => {
  if (text === 'off') return undefined
  const [most = '', locked = '', reset = '', ...rest] = text.split('/')
  const [threshold, length, span] = [
    positive(count).safeParse(most),
    lifetime.safeParse(locked),
    lifetime.safeParse(reset),
  ]
  if (threshold.success && length.success && span.success && rest.length === 0)
    return { threshold: threshold.data, durationMs: length.data, resetMs: span.data }
  const message = 'must be off or a number and two durations like 5/15m/15m'
  context.issues.push({ code: 'custom', message, input: text })
  return z.NEVER
})
const list = z.string().transform((text) => (text === '' ? [] : text.split(',').map((item) => item.trim())))
const networks = list.refine((items) => items.every(isNetwork), 'must be a list of networks like 10.0.0.0/8')
const proxies = list.refine(
  (items) => items.every((item) => item === 'unix' || isNetwork(item)),
  'must be a list of networks like 10.0.0.0/8, and unix',
)

const hosts = list.refine(
  (items) => items.every((item) => /^(?:\[[0-9a-fA-F:.]+\]|[^:[\]\s/]+):\d{1,5}$/.test(item)),
  'must be a list of host:port',
)

/** The listener's `host:port`; with port 0 the system chooses a port. */
const listen = z
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
    const message = issue?.message.replace('host:port', 'a list of host:port and unix:PATH') ?? 'is invalid'
    context.issues.push({ code: 'custom', message, input: text })
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

/**
 * Base URL of an upstream service, with an optional path; https only, because it receives secrets. Parsed to
 * a string without a trailing slash.
 */
const serviceAddress = z
  .string()
  .transform((text) => URL.parse(text))
  .refine(
    (url) => url !== null && url.protocol === 'https:' && url.href === `${url.origin}${url.pathname}`,
    'must be a URL like https://login.example.com',
  )
  .transform((url) => url?.href.replace(/\/$/, '') ?? '')

/** The address of a service on the machine itself, which may be plain HTTP. */
const plainAddress = z
  .string()
  .transform((text) => URL.parse(text))
  .refine(
    (url) => url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}${url.pathname}`,
    'must be a URL like http://169.254.169.254',
  )
  .transform((url) => url?.href.replace(/\/$/, '') ?? '')

/** The text may contain a password: no message repeats it. */
const storage = z.string().transform((text, context) => {
  if (text === 'memory:') return { kind: 'memory' as const }
  if (/^sqlite:(?!:memory:$)./.test(text))
    return { kind: 'sqlite' as const, path: text.slice('sqlite:'.length) }
  const address = /^postgres(?:ql)?:/.test(text)
    ? parsePostgresUrl(text)
    : 'must be memory:, sqlite:PATH or postgres://USER@HOST/DATABASE'
  if (typeof address !== 'string') return { kind: 'postgres' as const, ...address }
  context.issues.push({ code: 'custom', message: address, input: text })
  return z.NEVER
})

/** Whether the types exist is up to the server, which knows them. */
const mounts = list.transform((items, context) =>
  items.map((item) => {
    const [path = '', type = '', ...rest] = item.split('=')
    const table = tableOf(path)
    if (path === '' || type === '' || rest.length > 0)
      context.issues.push({
        code: 'custom',
        message: `"${item}" is not a valid PATH=TYPE of a mount`,
        input: item,
      })
    return { table, path: shownPath({ table, path }), type }
  }),
)

const ceremonies = list.pipe(
  z.array(z.enum(['rekey', 'generate-root'], 'must be a list of rekey and generate-root')),
)

const auditDevice = z.strictObject({
  path: z.string().regex(/^[\w.-]+(?:\/[\w.-]+)*\/?$/, 'path: must be a path like file'),
  type: z.string(),
  description: z.string().default(''),
  options: z.record(z.string(), z.string()).default({}),
})
/** Whether types and options are valid is up to the audit log, which knows them. */
const auditDevices = z.string().transform((text, context) => {
  const parsed = z.array(auditDevice).safeParse(parsedJson(text))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    // the text is secret: name the place, not the value
    const place = issue?.path.join('.') ?? ''
    const message = place === '' ? 'must be a JSON list of audit devices' : `${place}: is missing or invalid`
    context.issues.push({ code: 'custom', message, input: text })
    return z.NEVER
  }
  const devices = parsed.data.map(({ path, ...device }) => ({
    ...device,
    path: path.endsWith('/') ? path : `${path}/`,
    local: false,
  }))
  const isTaken = ({ path }: { path: string }, at: number) =>
    devices.some((other, index) => index !== at && other.path.startsWith(path))
  if (devices.some(isTaken))
    context.issues.push({
      code: 'custom',
      message: 'the path of one device begins with another',
      input: text,
    })
  return devices
})

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const cloudName = z
  .string()
  .refine(isEnvironmentName, 'must be CloudPublicCloud, CloudUSGovernmentCloud or CloudChinaCloud')

/** A semantic version, because clients parse it. */
const version = z.string().regex(/^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/, 'must be a semantic version')

type Setting = {
  readonly name: string
  readonly fallback: string | undefined
  readonly secret: boolean
  readonly about: string
  readonly schema: z.ZodType
}

const setting = <Schema extends z.ZodType, Fallback extends string | undefined>(
  schema: Schema,
  name: string,
  fallback: Fallback,
  about: string,
  secret = false,
) => ({ name, fallback, secret, about, schema })

/**
 * All settings. The environment variable is `GATEHOUSE_<name>`. Values of `secret` settings are never
 * printed. docs/settings.md
 */
export const settings = {
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
  unixSocketGroup: setting(
    groupName,
    'UNIX_SOCKET_GROUP',
    undefined,
    "group of Unix sockets, by name or number (default: the group of the server's user)",
  ),
  workers: setting(
    workers,
    'WORKERS',
    '1',
    'number of processes that serve requests, or auto: one per core; PostgreSQL only',
  ),
  apiAddr: setting(
    origin,
    'API_ADDR',
    undefined,
    'public base URL of this server, part of the issuer of its identity tokens (default: the listen address)',
  ),
  tls: setting(
    z.enum(['auto', 'off']),
    'TLS',
    'auto',
    'auto: TLS if there is a certificate, otherwise plain HTTP on loopback and Unix sockets only; off: plain HTTP on any address (behind a proxy that terminates TLS)',
  ),
  tlsCertFile: setting(
    text,
    'TLS_CERT_FILE',
    undefined,
    'PEM file of the certificate and its chain; with it, networks are served with TLS only. SIGHUP reads it again',
  ),
  tlsKeyFile: setting(
    text,
    'TLS_KEY_FILE',
    undefined,
    'PEM file of the private key of that certificate. SIGHUP reads it again',
  ),
  tlsMinVersion: setting(
    z.enum(['1.2', '1.3']),
    'TLS_MIN_VERSION',
    '1.2',
    'lowest version of TLS: 1.2 or 1.3',
  ),
  tlsClientCaFile: setting(
    text,
    'TLS_CLIENT_CA_FILE',
    undefined,
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
  customHeadersFile: setting(
    text,
    'CUSTOM_HEADERS_FILE',
    undefined,
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
  storage: setting(
    storage,
    'STORAGE',
    'sqlite:data/gatehouse.db',
    'sqlite:PATH; postgres://USER@HOST[:PORT][,HOST…]/DATABASE[?sslmode=MODE]; or memory: to lose all data when the process ends',
  ),
  storagePassword: setting(
    text,
    'STORAGE_PASSWORD',
    undefined,
    'password of the PostgreSQL user; prefer a file named by GATEHOUSE_STORAGE_PASSWORD_FILE',
    true,
  ),
  storagePasswordFile: setting(
    text,
    'STORAGE_PASSWORD_FILE',
    undefined,
    'file with that password, read again for each new connection',
  ),
  storageCaFile: setting(
    text,
    'STORAGE_CA_FILE',
    undefined,
    'PEM file of the authorities that sign the certificate of PostgreSQL (default: those of the system)',
  ),
  allowNetworkDisk: setting(
    flag,
    'ALLOW_NETWORK_DISK',
    'false',
    'true: accept a database file on NFS, SMB, FUSE or 9p',
  ),
  postgresPool: setting(
    count.refine((size) => size >= 2, 'must be at least 2'),
    'POSTGRES_POOL',
    '10',
    'maximum number of connections to PostgreSQL',
  ),
  postgresStatementTimeoutMs: setting(
    positive(timerDuration),
    'POSTGRES_STATEMENT_TIMEOUT',
    '5s',
    'time limit for a statement of PostgreSQL',
  ),
  postgresNotify: setting(
    flag,
    'POSTGRES_NOTIFY',
    'true',
    'false: do not use LISTEN and NOTIFY, which a transaction pooler does not support',
  ),
  postgresPollMs: setting(
    positive(timerDuration).refine((ms) => ms <= 900, 'must be at most 900ms'),
    'POSTGRES_POLL',
    '250ms',
    'how often a server asks PostgreSQL what others have written, at most 900ms',
  ),
  postgresPrepare: setting(
    flag,
    'POSTGRES_PREPARE',
    'true',
    'false: prepare no statements, and set time limits in each transaction, as a transaction pooler requires',
  ),
  background: setting(
    z.enum(['on', 'off']),
    'BACKGROUND',
    'on',
    'off: disable background jobs (expiry, rotation, clean-up), e.g. to inspect a backup',
  ),
  seal: setting(
    z.enum(['static', 'shamir']),
    'SEAL',
    'static',
    'static: the server unseals itself with its seal key; shamir: people unseal it with their shares',
  ),
  autoInit: setting(
    flag,
    'AUTO_INIT',
    'true',
    'false: a server with a static seal waits for sys/init instead of creating its store',
  ),
  sealKeyFile: setting(
    text,
    'SEAL_KEY_FILE',
    'data/seal.key',
    'file with the seal key, 32 bytes as hex or base64',
  ),
  sealKey: setting(text, 'SEAL_KEY', undefined, 'the seal key itself, instead of a file', true),
  sealPreviousKeyFile: setting(
    text,
    'SEAL_PREVIOUS_KEY_FILE',
    undefined,
    'file with the previous seal key, to change the seal key',
  ),
  allowOpenKeyFile: setting(
    flag,
    'ALLOW_OPEN_KEY_FILE',
    'false',
    'true: accept a seal key file that users other than its owner can read or change',
  ),
  openCeremonies: setting(
    ceremonies,
    'OPEN_CEREMONIES',
    '',
    'list of rekey and generate-root: served to callers without a token too',
  ),
  rootToken: setting(
    z.string().regex(/^[^\s.]+$/, 'must not contain spaces or dots'),
    'ROOT_TOKEN',
    undefined,
    'root token of npm run dev (default there: root); refused otherwise',
    true,
  ),
  rootTokenFile: setting(
    text,
    'ROOT_TOKEN_FILE',
    undefined,
    'file for the first root token (mode 0600), instead of standard output',
  ),
  defaultMounts: setting(
    mounts,
    'DEFAULT_MOUNTS',
    'auth/jwt=jwt,cloud=cloud',
    'mounts created at the first start, as a list of PATH=TYPE; empty: none. npm run dev adds secret=kv-v2',
  ),
  defaultLeaseTtlMs: setting(
    lifetime,
    'DEFAULT_LEASE_TTL',
    '768h',
    'lifetime of tokens and leases that request none',
  ),
  maxLeaseTtlMs: setting(lifetime, 'MAX_LEASE_TTL', '768h', 'maximum lifetime, unless a mount has its own'),
  audit: setting(
    auditDevices,
    'AUDIT',
    undefined,
    'audit devices as a JSON list of {"path","type","description","options"}, which the API can only read; or in a file named by GATEHOUSE_AUDIT_FILE',
    true,
  ),
  auditApi: setting(flag, 'AUDIT_API', 'true', 'whether the API may enable and disable audit devices'),
  auditDirs: setting(list, 'AUDIT_DIRS', 'data/audit', 'folders that audit devices may write files to'),
  auditHttpHosts: setting(
    hosts,
    'AUDIT_HTTP_HOSTS',
    '',
    'list of host:port that audit devices may send entries to',
  ),
  auditSync: setting(
    z.enum(['interval', 'always']),
    'AUDIT_SYNC',
    'interval',
    'interval: an entry is written before the response, and synced within a second; always: synced before the response',
  ),
  logLevel: setting(
    z.enum(['trace', 'debug', 'info', 'warn', 'error']),
    'LOG_LEVEL',
    'info',
    'trace, debug, info, warn or error. SIGHUP reads it again from the settings file',
  ),
  logFormat: setting(
    z.enum(['json', 'text']),
    'LOG_FORMAT',
    'json',
    'json: one object per line; text: for humans (default of npm run dev)',
  ),
  accessLog: setting(flag, 'ACCESS_LOG', 'false', 'true: a log line for each request'),
  replicaName: setting(
    text,
    'REPLICA_NAME',
    undefined,
    'name of this server in logs and for others that share its database: unique (default: the host name)',
  ),
  metrics: setting(
    z.enum(['token', 'open', 'off']),
    'METRICS',
    'token',
    'who may read /metrics and sys/metrics: token: tokens with read on sys/metrics; open: everyone; off: nobody',
  ),
  metricsListen: setting(
    listen,
    'METRICS_LISTEN',
    undefined,
    'host:port of an HTTP listener for /metrics and /health/* only, which needs no token and works while sealed',
  ),
  maxHeadSize: setting(
    positive(size).refine((bytes) => bytes <= 1024 ** 2, 'must be at most 1MiB'),
    'MAX_HEAD_SIZE',
    '32KiB',
    'largest head of a request: its first line and its header fields; a larger one gets 431',
  ),
  maxHeadFields: setting(
    positive(count).refine((fields) => fields <= 10_000, 'must be at most 10000'),
    'MAX_HEAD_FIELDS',
    '128',
    'maximum number of header fields of a request; one with more gets 431',
  ),
  maxRequestSize: setting(size, 'MAX_REQUEST_SIZE', '32MiB', 'largest request body; 0: no limit'),
  maxLoginSize: setting(
    size,
    'MAX_LOGIN_SIZE',
    '1MiB',
    'largest request body on a path that needs no token; 0: MAX_REQUEST_SIZE',
  ),
  maxJsonStrings: setting(
    count,
    'MAX_JSON_STRINGS',
    '1000',
    'maximum number of strings in a JSON body, including keys; 0: no limit',
  ),
  maxJsonMemory: setting(
    size,
    'MAX_JSON_MEMORY',
    '32.5MiB',
    'estimated decoded size of a JSON body; 0: no limit',
  ),
  maxJwtSize: setting(size, 'MAX_JWT_SIZE', '512KiB', 'largest JWT at login; 0: no limit'),
  maxInFlight: setting(
    positive(count),
    'MAX_IN_FLIGHT',
    '1024',
    'maximum number of concurrent requests; more wait for a place',
  ),
  inFlightWaitMs: setting(
    timerDuration,
    'IN_FLIGHT_WAIT',
    '1s',
    'how long a request beyond MAX_IN_FLIGHT waits for a place before it gets 503',
  ),
  maxBuffered: setting(
    positive(size),
    'MAX_BUFFERED',
    '256MiB',
    'maximum size of all request heads, request bodies and responses together; above it, the largest incomplete body gets 503',
  ),
  maxConnections: setting(
    positive(count),
    'MAX_CONNECTIONS',
    '10000',
    'maximum number of open connections; above it, a new connection closes the one that has been idle longest',
  ),
  maxConnectionShare: setting(
    share,
    'MAX_CONNECTION_SHARE',
    '10%',
    'share of MAX_CONNECTIONS that one client address may hold',
  ),
  headerTimeoutMs: setting(
    timerDuration,
    'HEADER_TIMEOUT',
    '10s',
    'time limit for receiving the head of a request',
  ),
  bodyTimeoutMs: setting(timerDuration, 'BODY_TIMEOUT', '30s', 'time limit for receiving a whole request'),
  idleTimeoutMs: setting(timerDuration, 'IDLE_TIMEOUT', '5m', 'how long an idle connection is kept open'),
  messageWaiters: setting(
    count,
    'MESSAGE_WAITERS',
    '100',
    'maximum number of requests per client address that wait for messages or secrets to change; more get 429; 0 disables long polling',
  ),
  loginFailures: setting(
    loginFailures,
    'LOGIN_FAILURES',
    'off',
    'COUNT/DURATION: once a mount has refused this many logins of a client address, it answers 429 to that address until the time is over; off: no limit',
  ),
  userLockout: setting(
    userLockout,
    'USER_LOCKOUT',
    '5/15m/15m',
    'COUNT/DURATION/RESET: so many wrong passwords or secret ids of a user or role id lock it for this long; a failure counts until there was none for RESET; off: nobody is locked',
  ),
  exactListMatching: setting(
    flag,
    'EXACT_LIST_MATCHING',
    'false',
    'true: allowed_parameters and denied_parameters compare a value as a whole, not the elements of a list, and names of policies letter by letter; only for policies that need it',
  ),
  loginFailuresKept: setting(
    count,
    'LOGIN_FAILURES_KEPT',
    '200',
    'maximum number of refused logins that each mount keeps in memory; 0: none',
  ),
  outboundDeny: setting(
    networks,
    'OUTBOUND_DENY',
    '169.254.0.0/16,fe80::/10,fd00:ec2::254/128,168.63.129.16/32',
    'networks to which the server never sends requests',
  ),
  edition: setting(
    z.enum(['enterprise', 'community']),
    'EDITION',
    'enterprise',
    'enterprise, or community: without custom messages',
  ),
  reportedVersion: setting(version, 'REPORTED_VERSION', '1.16.3+ent', 'version reported to clients'),
} satisfies Record<string, Setting>

/**
 * Environment variables of the cloud engine, under the names its users know; an empty value means unset.
 * docs/contract/cloud.md#effective-settings, docs/contract/cloud.md#endpoints
 */
export const cloudSettings = {
  subscriptionId: setting(
    z.string(),
    'CLOUD_SUBSCRIPTION_ID',
    undefined,
    'subscription of every cloud mount; overrides its config',
  ),
  tenantId: setting(
    z.string(),
    'CLOUD_TENANT_ID',
    undefined,
    'tenant of every cloud mount; overrides its config',
  ),
  clientId: setting(
    z.string(),
    'CLOUD_CLIENT_ID',
    undefined,
    'client id of the root credential; overrides the config of cloud mounts',
  ),
  clientSecret: setting(
    z.string(),
    'CLOUD_CLIENT_SECRET',
    undefined,
    'secret of the root credential; overrides the config of cloud mounts',
    true,
  ),
  environment: setting(
    cloudName,
    'CLOUD_ENVIRONMENT',
    undefined,
    'CloudPublicCloud, CloudUSGovernmentCloud or CloudChinaCloud; overrides the config of cloud mounts',
  ),
  authorityHost: setting(
    serviceAddress,
    'CLOUD_AUTHORITY_HOST',
    undefined,
    'login service of a private cloud, an https URL',
  ),
  directoryEndpoint: setting(
    serviceAddress,
    'CLOUD_DIRECTORY_ENDPOINT',
    undefined,
    'directory API of a private cloud, an https URL without /v1.0',
  ),
  resourceManagerEndpoint: setting(
    serviceAddress,
    'CLOUD_RESOURCE_MANAGER_ENDPOINT',
    undefined,
    'resource manager of a private cloud, an https URL',
  ),
  caFile: setting(
    z.string(),
    'CLOUD_CA_FILE',
    undefined,
    'PEM file of additional CA certificates for these services',
  ),
  authType: setting(
    z.enum(authTypes, { error: `must be one of ${authTypes.join(', ')}` }),
    'CLOUD_AUTH_TYPE',
    undefined,
    'how every cloud mount signs in; overrides auth_type of its config',
  ),
  clientCertificatePath: setting(
    z.string(),
    'CLOUD_CLIENT_CERTIFICATE_PATH',
    undefined,
    'file with the certificate of the root credential and its key: PEM or PFX; overrides the config of cloud mounts',
  ),
  clientCertificatePassword: setting(
    z.string(),
    'CLOUD_CLIENT_CERTIFICATE_PASSWORD',
    undefined,
    'password of that file',
    true,
  ),
  metadataEndpoint: setting(
    plainAddress,
    'CLOUD_METADATA_ENDPOINT',
    undefined,
    'metadata service that has the identity of the machine; by default `http://169.254.169.254`',
  ),
  hostIdentity: setting(
    z.string(),
    'CLOUD_HOST_IDENTITY',
    undefined,
    'full paths of mounts outside of the root namespace that may sign in as the machine, separated by commas, such as team/cloud/',
  ),
  federatedTokenFile: setting(
    z.string(),
    'AZURE_FEDERATED_TOKEN_FILE',
    undefined,
    'file with the token of a Kubernetes service account; set by Azure Workload Identity',
  ),
  identityEndpoint: setting(
    plainAddress,
    'IDENTITY_ENDPOINT',
    undefined,
    'metadata service of an application platform; set by the platform together with `IDENTITY_HEADER`',
  ),
  identityHeader: setting(
    z.string(),
    'IDENTITY_HEADER',
    undefined,
    'what that service requires of its clients; set by the platform',
    true,
  ),
} satisfies Record<keyof EnvironmentSettings, Setting>

type Settings = typeof settings
type Value<Entry extends Setting> = Entry['fallback'] extends string
  ? z.output<Entry['schema']>
  : z.output<Entry['schema']> | undefined
export type Config = { readonly [Name in keyof Settings]: Value<Settings[Name]> } & {
  /** Development mode: text log, fixed root token, and memory storage unless another one is set. */
  readonly dev: boolean
  /** The number of this process, if it is one of several. docs/replicas.md#worker-processes */
  readonly worker?: number
  /** How many such processes there are. */
  readonly processes?: number
  readonly cloud: EnvironmentSettings
  /** `HTTPS_PROXY` and `NO_PROXY`, or their lower-case forms, for outgoing requests. */
  readonly httpsProxy: string | undefined
  /** Undefined: no traces are made. */
  readonly tracing: TracingSettings | undefined
  readonly noProxy: string | undefined
}

const injected = /_(?:SERVICE_HOST|SERVICE_PORT(?:_.*)?|PORT|PORT_\d+_.*)$/

/** Defaults of `npm run dev`. */
const devFallbacks: Partial<Record<keyof Settings, string>> = {
  storage: 'memory:',
  rootToken: 'root',
  logFormat: 'text',
  defaultMounts: 'auth/jwt=jwt,cloud=cloud,secret=kv-v2',
}

/** Where and how traces are sent, by the standard names of OpenTelemetry. docs/monitoring.md#traces */
export type TracingSettings = {
  readonly url: string
  readonly service: string
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: string
  /** Of a sampler that takes a part of the traces. */
  readonly ratio: number
}

const samplers = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`])

function readTracing(environment: Readonly<Record<string, string | undefined>>): TracingSettings | undefined {
  const given = (name: string) => environment[`OTEL_${name}`] || undefined
  const all = given('EXPORTER_OTLP_ENDPOINT')
  const own = given('EXPORTER_OTLP_TRACES_ENDPOINT')
  if (own === undefined && all === undefined) return undefined
  if (given('SDK_DISABLED') === 'true' || given('TRACES_EXPORTER') === 'none') return undefined
  const name = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  const url = URL.parse(own ?? `${all?.replace(/\/$/, '')}/v1/traces`)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new SettingError(`${name}: must be a URL like http://collector:4318`)
  const sampler = given('TRACES_SAMPLER') ?? 'parentbased_always_on'
  if (!samplers.includes(sampler))
    throw new SettingError(`OTEL_TRACES_SAMPLER: must be one of ${samplers.join(', ')}`)
  const ratio = Number(given('TRACES_SAMPLER_ARG') ?? '1')
  if (!(ratio >= 0 && ratio <= 1)) throw new SettingError('OTEL_TRACES_SAMPLER_ARG: must be from 0 to 1')
  const pairs = (given('RESOURCE_ATTRIBUTES') ?? '').split(',').map((pair) => pair.split('=', 2))
  const resource = Object.fromEntries(
    pairs.flatMap(([key = '', value]) => (value === undefined ? [] : [[key.trim(), value.trim()]])),
  )
  const service = given('SERVICE_NAME') ?? resource['service.name'] ?? 'gatehouse'
  return { url: url.href, service, resource, sampler, ratio }
}

/** Log settings before validation, so that an invalid setting is reported in the requested format. */
export function logSettings(
  environment: Readonly<Record<string, string | undefined>>,
  dev: boolean,
): Pick<Config, 'logFormat' | 'replicaName'> {
  const format =
    environment['GATEHOUSE_LOG_FORMAT'] ?? (dev ? devFallbacks.logFormat : settings.logFormat.fallback)
  return {
    logFormat: format === 'text' ? 'text' : 'json',
    replicaName: environment['GATEHOUSE_REPLICA_NAME'],
  }
}

/**
 * Reads the environment. Throws a SettingError that names the first invalid setting; reports unknown
 * `GATEHOUSE_` names to `warn`. docs/settings.md
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  options: { dev: boolean; warn(text: string): void },
): Config {
  const known = new Set<string>()
  const values: Record<string, unknown> = {
    dev: options.dev,
    cloud: readCloudSettings(environment),
    httpsProxy: environment['HTTPS_PROXY'] || environment['https_proxy'],
    noProxy: environment['NO_PROXY'] || environment['no_proxy'],
    tracing: readTracing(environment),
  }
  for (const [key, entry] of Object.entries(settings) as [keyof Settings, Setting][]) {
    const name = `GATEHOUSE_${entry.name}`
    known.add(name)
    if (entry.name === inFile) known.add(`${name}_FILE`)
    const text = given(environment, entry) ?? (options.dev ? devFallbacks[key] : undefined) ?? entry.fallback
    if (text === undefined) continue
    values[key] = parseSetting(entry, name, text)
  }
  for (const name of Object.keys(environment)) {
    if (name.startsWith('GATEHOUSE_') && !known.has(name) && !injected.test(name))
      options.warn(`unknown setting ${name}`)
  }
  // the loop above adds exactly the members of the table
  const config = values as unknown as Config
  checkCombinations(config, environment)
  return Object.freeze(config)
}

/**
 * The settings that the environment has, for people who help: `(set)` instead of a secret, and of the user
 * and password in a URL.
 */
export function shownSettings(environment: Readonly<Record<string, string | undefined>>): object {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value = '']) => {
      if (!shownNames.test(name) || isForeign(name)) return []
      return [[name, isSecret(name) ? '(set)' : value.replace(/:\/\/\S*@/g, '://(set)@')]]
    }),
  )
}

/** The secrets in the environment. */
export const secretValues = (environment: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(environment).flatMap(([name, value = '']) =>
    shownNames.test(name) && isSecret(name) && value !== '' ? [value] : [],
  )

const shownNames = /^(?:GATEHOUSE|CLOUD|OTEL|IDENTITY)_|^AZURE_FEDERATED_TOKEN_FILE$|^(?:https?|no)_proxy$/i

/** Another program's, whose secrets nobody here knows by name. */
const isForeign = (name: string): boolean =>
  /^(?:CLOUD|IDENTITY)_/.test(name) && Object.values(cloudSettings).every((entry) => entry.name !== name)

/** Names of secrets that other programs define, and names that are unknown here. */
const secretName = /SECRET|PASSWORD|TOKEN|KEY|HEADERS|CREDENTIAL/

function isSecret(name: string): boolean {
  const known =
    Object.values(settings).find((entry) => `GATEHOUSE_${entry.name}` === name) ??
    Object.values(cloudSettings).find((entry) => entry.name === name)
  return known?.secret ?? (secretName.test(name) && !name.endsWith('_FILE'))
}

/** The secret that may also be in a file. Other secrets have a setting of their own for it. */
const inFile = settings.audit.name

/** The text of a setting, if it is set. */
/** Settings that SIGHUP reads again from the settings file. */
const reloadable = ['tlsCertFile', 'tlsKeyFile', 'tlsClientCaFile', 'logLevel', 'customHeadersFile'] as const
export type Reloadable = Pick<Config, (typeof reloadable)[number]>

/** Reads only these settings again. Throws a SettingError. docs/settings.md#change-settings-without-a-restart */
export function rereadConfig(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): Config {
  const values: Record<string, unknown> = { ...config }
  for (const key of reloadable) {
    const { name, fallback } = settings[key]
    const text = environment[`GATEHOUSE_${name}`] ?? fallback
    values[key] = text === undefined ? undefined : parseSetting(settings[key], `GATEHOUSE_${name}`, text)
  }
  // the loop above replaces members with their like
  const changed = values as unknown as Config
  checkTls(changed)
  return Object.freeze(changed)
}

function given(environment: Readonly<Record<string, string | undefined>>, { name }: Setting) {
  const text = environment[`GATEHOUSE_${name}`]
  const file = name === inFile ? environment[`GATEHOUSE_${name}_FILE`] : undefined
  if (file === undefined) return text
  if (text !== undefined)
    throw new SettingError(`GATEHOUSE_${name}: must not be set together with GATEHOUSE_${name}_FILE`)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new SettingError(`GATEHOUSE_${name}_FILE: cannot read ${file}: ${systemReason(cause)}`)
  }
}

function readCloudSettings(environment: Readonly<Record<string, string | undefined>>): EnvironmentSettings {
  const given = Object.entries(cloudSettings).flatMap(([key, entry]) => {
    const text = environment[entry.name] ?? ''
    return text === '' ? [] : [[key, parseSetting(entry, entry.name, text)]]
  })
  // the entries are those of the table above, and all are strings
  return Object.freeze(Object.fromEntries(given) as EnvironmentSettings)
}

function parseSetting(entry: Setting, name: string, text: string): unknown {
  const parsed = entry.schema.safeParse(text)
  if (!parsed.success) throw new SettingError(`${name}: ${parsed.error.issues[0]?.message ?? 'invalid'}`)
  return parsed.data
}

function checkCombinations(config: Config, environment: Readonly<Record<string, string | undefined>>): void {
  if (config.dev && (config.seal === 'shamir' || !config.autoInit)) {
    const name = config.seal === 'shamir' ? 'SEAL' : 'AUTO_INIT'
    throw new SettingError(`GATEHOUSE_${name}: npm run dev initializes and unseals itself`)
  }
  if (!config.dev && environment['GATEHOUSE_ROOT_TOKEN'] !== undefined) {
    throw new SettingError('GATEHOUSE_ROOT_TOKEN: only npm run dev accepts a root token from the environment')
  }
  checkWorkers(config)
  if ((config.unixSocketMode & 0o002) !== 0 && config.trustedProxies.includes('unix'))
    throw new SettingError(
      'GATEHOUSE_UNIX_SOCKET_MODE: with unix among GATEHOUSE_TRUSTED_PROXIES, everyone on this machine could name the address of a client',
    )
  const open = config.listen.find((at) => 'host' in at && !isLoopbackHost(at.host))
  checkTls(config)
  if (config.tls === 'auto' && config.tlsCertFile === undefined && open !== undefined && 'host' in open) {
    throw new SettingError(
      `GATEHOUSE_LISTEN: plain HTTP on ${open.host} is refused; set GATEHOUSE_TLS_CERT_FILE and GATEHOUSE_TLS_KEY_FILE, or GATEHOUSE_TLS=off if a proxy in front speaks TLS`,
    )
  }
  if (config.rootTokenFile !== undefined && isStoreFile(config, config.rootTokenFile))
    throw new SettingError(
      `GATEHOUSE_ROOT_TOKEN_FILE: ${config.rootTokenFile} is a database file or a seal key file`,
    )
  const openFolder = config.auditDirs.find((dir) => storeFiles(config).some((file) => isInside(dir, file)))
  if (openFolder !== undefined)
    throw new SettingError(
      `GATEHOUSE_AUDIT_DIRS: ${openFolder} contains a database file or a seal key file, which audit devices could damage`,
    )
  if (config.storagePassword !== undefined && config.storagePasswordFile !== undefined)
    throw new SettingError(
      'GATEHOUSE_STORAGE_PASSWORD: must not be set together with GATEHOUSE_STORAGE_PASSWORD_FILE',
    )
  if (config.defaultLeaseTtlMs > config.maxLeaseTtlMs)
    throw new SettingError('GATEHOUSE_DEFAULT_LEASE_TTL: must not be above GATEHOUSE_MAX_LEASE_TTL')
}

function checkTls({ tls, tlsCertFile, tlsKeyFile, tlsClientCaFile, tlsClientAuth }: Config): void {
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    const [missing, given] = tlsCertFile === undefined ? ['CERT', 'KEY'] : ['KEY', 'CERT']
    throw new SettingError(
      `GATEHOUSE_TLS_${missing}_FILE: must be set together with GATEHOUSE_TLS_${given}_FILE`,
    )
  }
  if (tlsClientCaFile !== undefined && (tlsCertFile === undefined || tls === 'off'))
    throw new SettingError('GATEHOUSE_TLS_CLIENT_CA_FILE: client certificates need TLS')
  if (tlsClientAuth === 'require' && tlsClientCaFile === undefined)
    throw new SettingError('GATEHOUSE_TLS_CLIENT_AUTH: require needs GATEHOUSE_TLS_CLIENT_CA_FILE')
}

/** What the server listens on, with the access to Unix sockets. */
export const listenAddresses = ({ listen, unixSocketMode, unixSocketGroup }: Config) =>
  listen.map((at) => ('path' in at ? { ...at, mode: unixSocketMode, group: unixSocketGroup } : at))

/** How networks are served with TLS; undefined for plain HTTP. docs/tls.md */
export function tlsSettings(config: Config) {
  const { tls, tlsCertFile: certFile, tlsKeyFile: keyFile, tlsClientCaFile: clientCaFile } = config
  if (tls === 'off' || certFile === undefined || keyFile === undefined) return undefined
  return {
    certFile,
    keyFile,
    clientCaFile,
    minVersion: config.tlsMinVersion === '1.3' ? ('TLSv1.3' as const) : ('TLSv1.2' as const),
    requiresClientCertificate: config.tlsClientAuth === 'require',
  }
}

function checkWorkers({ workers, storage, seal }: Config): void {
  if (workers === 1) return
  const { kind }: { kind: string } = storage
  if (kind !== 'postgres')
    throw new SettingError(
      `GATEHOUSE_WORKERS: several processes need PostgreSQL; ${kind === 'sqlite' ? 'a SQLite file' : 'memory'} belongs to one process`,
    )
  if (seal === 'shamir')
    throw new SettingError(
      'GATEHOUSE_WORKERS: must be 1 with GATEHOUSE_SEAL=shamir, because the shares of the unseal key must reach one process',
    )
}

/**
 * Whether `path` is a database file or a seal key file, by whichever links; overwriting one would make the
 * store unusable.
 */
export const isStoreFile = (config: Config, path: string): boolean =>
  placesOf(path).some((place) => storeFiles(config).includes(place))

/** Links and what they lead to. */
function storeFiles({ storage, sealKeyFile, sealPreviousKeyFile }: Config): string[] {
  const paths = storage.kind === 'sqlite' ? placesOf(storage.path) : []
  const database = paths.flatMap((path) => ['', '-wal', '-shm', '.lock'].map((end) => `${path}${end}`))
  return [sealKeyFile, sealPreviousKeyFile ?? sealKeyFile, ...database].flatMap(placesOf)
}

const placesOf = (path: string): string[] => [placeOf(path), realPathOf(path)]

const isInside = (folder: string, file: string): boolean =>
  !/^\.\.(?:\/|$)/.test(relative(realPathOf(folder), file))

/** How to connect to the PostgreSQL database; undefined with another storage. */
export function postgresConnection(config: Config) {
  const { storage, storagePassword: password, storagePasswordFile: passwordFile } = config
  if (storage.kind !== 'postgres') return undefined
  return {
    address: storage,
    password,
    passwordFile,
    caFile: config.storageCaFile,
    statementTimeoutMs: config.postgresStatementTimeoutMs,
    prepares: config.postgresPrepare,
  }
}
