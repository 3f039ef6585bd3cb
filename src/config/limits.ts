import { z } from 'zod'
import { type Setting, setting } from './setting.ts'
import { count, flag, lifetime, positive, share, size, timerDuration } from './values.ts'

/** `10/1m`: a number of refused logins, and the time in which they count. */
const loginFailures = z.string().transform((text, context) => {
  if (text === 'off') return undefined
  const [most = '', time = '', ...rest] = text.split('/')
  const [limit, span] = [positive(count).safeParse(most), lifetime.safeParse(time)]
  if (limit.success && span.success && rest.length === 0) return { count: limit.data, durationMs: span.data }
  context.addIssue('must be off or a number and a duration like 10/1m')
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
  context.addIssue('must be off or a number and two durations like 5/15m/15m')
  return z.NEVER
})

export const limitSettings = {
  maxHeadSize: setting(
    positive(size).refine((bytes) => bytes <= 1024 ** 2, 'must be at most 1MiB'),
    'MAX_HEAD_SIZE',
    '32KiB',
    'largest head of a request beside tokens and logins in it, which may have 96KiB more; a larger one gets 431',
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
  messageWarnings: setting(
    flag,
    'MESSAGE_WARNINGS',
    'false',
    'true: once an hour, a response to each token has the title of the banner that it is shown among its warnings',
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
  policyUses: setting(
    count.refine((uses) => uses <= 50_000, 'must be at most 50000'),
    'POLICY_USES',
    '0',
    'how many entities, paths and operations are remembered for 30 days, by all servers together, for what-ifs of policies; 0: none',
  ),
  loginFailuresKept: setting(
    count,
    'LOGIN_FAILURES_KEPT',
    '200',
    'maximum number of refused logins that each mount keeps in memory; 0: none',
  ),
} satisfies Record<string, Setting>
