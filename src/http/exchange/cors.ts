import { allowedHeaders, type CorsSettings } from '../../core/settings/cors-settings.ts'
import type { Call } from './call.ts'
import type { Answer } from './envelope.ts'
import { errorBody } from './error-reply.ts'

/**
 * The CORS headers for pages of other origins; built once for each change of the settings.
 * docs/contract/http.md#pages-of-other-origins
 */
export type CorsRules = {
  /** Undefined: every origin. */
  readonly origins: ReadonlySet<string> | undefined
  readonly answer: Readonly<Record<string, string>>
  readonly preflight: Readonly<Record<string, string>>
}

/** The decision about a request that names its origin. */
type CorsVerdict = 'refused' | 'served' | 'preflight' | 'bad-preflight'

const methods = ['DELETE', 'GET', 'OPTIONS', 'POST', 'PUT', 'LIST', 'SCAN', 'PATCH']

/**
 * docs/contract/http.md#pages-of-other-origins, docs/contract/messages.md#entity-tags adds the headers that
 * are exposed.
 */
function corsRules(settings: CorsSettings): CorsRules {
  const answer = {
    'access-control-expose-headers': 'ETag, X-Next-Change-At',
    ...(settings.credentials ? { 'access-control-allow-credentials': 'true' } : {}),
  }
  return {
    origins: settings.origins[0] === '*' ? undefined : new Set(settings.origins),
    answer,
    preflight: {
      ...answer,
      'access-control-allow-methods': methods.join(','),
      'access-control-allow-headers': allowedHeaders(settings).join(','),
      'access-control-max-age': '300',
    },
  }
}

/** Compares origins unchanged. `wanted` is the method that a preflight asks for. */
function corsVerdict(
  { origins }: CorsRules,
  origin: string,
  { verb, wanted }: { verb: string; wanted: string | undefined },
): CorsVerdict {
  if (origins !== undefined && !origins.has(origin)) return 'refused'
  if (verb !== 'OPTIONS') return 'served'
  return wanted !== undefined && methods.includes(wanted) ? 'preflight' : 'bad-preflight'
}

/** The rules of the current settings, rebuilt only when those change. */
export function corsReader(current: () => CorsSettings | undefined): () => CorsRules | undefined {
  let made: { from: CorsSettings; rules: CorsRules } | undefined
  return () => {
    const settings = current()
    if (settings === undefined) return undefined
    if (made?.from !== settings) made = { from: settings, rules: corsRules(settings) }
    return made.rules
  }
}

/**
 * Sets the CORS headers of the response on the call. Returns a response if the request needs no further
 * handling.
 */
export function lookAtOrigin(
  rules: CorsRules,
  headers: { readonly origin?: string; readonly 'access-control-request-method'?: string },
  call: Call,
): Answer | undefined {
  const { origin } = headers
  if (origin === undefined || origin === '') return undefined
  const verdict = corsVerdict(rules, origin, {
    verb: call.verb,
    wanted: headers['access-control-request-method'],
  })
  if (verdict === 'served') call.crossOrigin = { origin, headers: rules.answer }
  else if (verdict === 'preflight') call.crossOrigin = { origin, headers: rules.preflight }
  return answers[verdict]
}

const answers: Record<CorsVerdict, Answer | undefined> = {
  served: undefined,
  refused: { status: 403, contentType: 'application/json', body: errorBody('origin not allowed') },
  preflight: { status: 200 },
  'bad-preflight': { status: 405 },
}
