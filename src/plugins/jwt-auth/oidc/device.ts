import { excerpt } from '../../../lib/text/go-text.ts'
import { redactSecrets } from '../../../logins/refusals/redact.ts'
import { askTokenEndpoint, ExchangeError, type ExchangeParts, readMembers } from './exchange.ts'
import { isWebAddress } from './redirect-uri.ts'

/** What a client tells the person, and how the server asks whether they have signed in. */
export type BegunDevice = {
  readonly auth_url: string
  /** Only if it is not in the URL. */
  readonly user_code?: string
  readonly device_code: string
  /** Seconds; 0 if the provider names none. */
  readonly interval: number
}

/** Longest value of the provider to keep. */
const maxLength = 4096
const maxInterval = 3600

/**
 * Begins a login at the provider's device endpoint. Throws `ExchangeError`.
 * docs/contract/oidc.md#callback-modes, RFC 8628 §3.1
 */
export async function beginDevice(scope: string, parts: ExchangeParts): Promise<BegunDevice> {
  const { config, document } = parts
  const form = new URLSearchParams({
    client_id: config.oidc_client_id,
    ...(config.oidc_public_client ? {} : { client_secret: config.oidc_client_secret }),
    scope,
  })
  const url = document.device_authorization_endpoint
  const answer = await askTokenEndpoint(url, { headers: {}, body: form.toString() }, parts)
  const members = readMembers(answer.body.toString('utf8'), answer.headers['content-type'] ?? '')
  const text = (...names: string[]): string => {
    const found = names.map((name) => members?.get(name)).find((value) => typeof value === 'string')
    return typeof found === 'string' && found.length <= maxLength ? found : ''
  }
  if (answer.status < 200 || answer.status > 299 || text('error') !== '') {
    // it may repeat what it was sent
    const shown = redactSecrets(config.oidc_client_secret)
    const said = `${text('error')} ${text('error_description')}`.trim()
    throw refused(`${answer.status} ${excerpt(shown(said))}`)
  }
  const complete = text('verification_uri_complete', 'verification_url_complete')
  const auth_url = complete || text('verification_uri', 'verification_url')
  const device_code = text('device_code')
  if (device_code === '' || !isWebAddress(auth_url))
    throw refused('the answer has no usable device_code or verification_uri')
  const interval = Number(members?.get('interval') ?? 0)
  return {
    auth_url,
    ...(complete === '' ? { user_code: text('user_code') } : {}),
    device_code,
    interval: Number.isInteger(interval) && interval > 0 ? Math.min(interval, maxInterval) : 0,
  }
}

/** The answer is for the operator. */
const refused = (message: string): ExchangeError =>
  new ExchangeError(message, { told: 'its device endpoint refused' })
