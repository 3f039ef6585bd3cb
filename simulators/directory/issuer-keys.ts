import type { IncomingMessage } from 'node:http'
import { get as getPlain } from 'node:http'
import { get as getOverTls } from 'node:https'
import { loginError } from './login-errors.ts'
import type { Settings } from './settings.ts'

type Key = Record<string, unknown>

/** Public keys of foreign issuers, as the identity platform fetches and keeps them. */
export type IssuerKeys = {
  /** The key with this id, of the first hundred that the issuer publishes. */
  find(issuer: string, keyId: string | undefined): Promise<Key | undefined>
}

const mostKeys = 100
const longestDocument = 1_048_576

/** simulators/directory/README.md */
export function makeIssuerKeys(settings: () => Settings['issuers'], now: () => number): IssuerKeys {
  const kept = new Map<string, { fetchedAt: number; keys: Promise<Key[]> }>()

  function keysOf(issuer: string, afresh: boolean): Promise<Key[]> {
    const known = kept.get(issuer)
    if (known !== undefined && !afresh && now() < known.fetchedAt + settings().cacheSeconds * 1000)
      return known.keys
    const keys = fetchKeys(issuer, settings())
    const entry = { fetchedAt: now(), keys }
    kept.set(issuer, entry)
    // a failure is not kept
    keys.catch(() => {
      if (kept.get(issuer) === entry) kept.delete(issuer)
    })
    return keys
  }

  return {
    find: async (issuer, keyId) => {
      const named = (keys: readonly Key[]) => keys.find(({ kid }) => kid === keyId)
      const before = kept.get(issuer)
      const found = named(await keysOf(issuer, false))
      const wasFetched = kept.get(issuer) !== before
      if (found !== undefined || wasFetched || !settings().refetchOnUnknownKey) return found
      return named(await keysOf(issuer, true))
    },
  }
}

async function fetchKeys(issuer: string, settings: Settings['issuers']): Promise<Key[]> {
  const discovery = await fetchDocument(`${issuer}/.well-known/openid-configuration`, settings)
  if (discovery.issuer !== issuer || typeof discovery.jwks_uri !== 'string') throw unreachable(90061)
  const { keys } = await fetchDocument(discovery.jwks_uri, settings)
  if (!Array.isArray(keys)) throw unreachable(90061)
  return keys.slice(0, mostKeys)
}

/** Does not follow redirects. */
async function fetchDocument(
  address: string,
  settings: Settings['issuers'],
): Promise<Record<string, unknown>> {
  const url = URL.parse(placed(address, settings.addresses))
  if (url === null) throw unreachable(50166)
  const signal = AbortSignal.timeout(settings.timeoutMs)
  const text = await new Promise<string>((resolve, reject) => {
    const taken = (response: IncomingMessage) => void readText(response).then(resolve, reject)
    const request =
      url.protocol === 'https:'
        ? getOverTls(url, { signal, agent: false, ...(settings.ca !== null && { ca: settings.ca }) }, taken)
        : getPlain(url, { signal, agent: false }, taken)
    request.on('error', () => reject(unreachable(50166)))
  })
  try {
    return { ...JSON.parse(text) }
  } catch {
    throw unreachable(90061)
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  if (response.statusCode !== 200) {
    response.destroy()
    throw unreachable(501661)
  }
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk
      if (text.length > longestDocument) break
    }
  } catch {
    throw unreachable(50166)
  }
  if (text.length > longestDocument) throw unreachable(90061)
  return text
}

/** Where the document is fetched: a test may place an issuer's origin at another address. */
function placed(address: string, addresses: Readonly<Record<string, string>>): string {
  const origin = URL.parse(address)?.origin
  const place = origin === undefined ? undefined : addresses[origin]
  return origin === undefined || place === undefined ? address : place + address.slice(origin.length)
}

const unreachable = (number: number) =>
  loginError(400, 'invalid_request', number, 'Request to External OIDC endpoint failed.')
