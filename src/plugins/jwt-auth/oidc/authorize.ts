import type { OutboundClient } from '../../../core/outbound/outbound.ts'
import type { RequestedScope } from '../../../core/tokens/store/scope.ts'
import { refuse } from '../../../errors.ts'
import type { ReadyProvider } from '../../../jwt/keys/discovered-provider.ts'
import { DiscoveryError } from '../../../jwt/keys/discovery.ts'
import { redactUrl } from '../../../logins/refusals/redact.ts'
import { comparing, discreetRefusal, type Refusal, refusal } from '../../../logins/refusals/refusal.ts'
import { isRefusal } from '../checks/trace.ts'
import { type Config, hasOidcClient } from '../config/jwt-config.ts'
import type { MountState, ReadyConfig } from '../config/mount-state.ts'
import { type CallbackMode, callbackMode, type Role } from '../config/role.ts'
import type { Attempt } from '../login/flow-trace.ts'
import { namedRole } from '../login/login.ts'
import type { LoginStart, PendingLogin } from './pending-login.ts'
import type { BegunLogin, PendingLogins } from './pending-logins.ts'
import type { ProviderWaits } from './provider-waits.ts'
import {
  formTarget,
  isAllowedRedirect,
  isWebAddress,
  redirectDifference,
  takeNamespace,
} from './redirect-uri.ts'

export type AuthorizeInput = {
  readonly role: string
  readonly redirect_uri: string
  readonly client_nonce: string
  readonly scope?: RequestedScope | undefined
}

export type AuthorizeContext = {
  readonly state: MountState
  readonly pending: PendingLogins
  readonly waits: ProviderWaits
  readonly outbound: OutboundClient
  readonly remoteAddress: string
  readonly signal: AbortSignal
  readonly attempt: Attempt
}

/** A URL to send the browser to, and how to poll, if the client has to; or none, and why. */
export type Authorization =
  | {
      readonly auth_url: string
      readonly state?: string
      readonly poll_interval?: string
      readonly user_code?: string
    }
  | { readonly refused: Refusal }

/**
 * Begins a login. The caller's mistakes are thrown. A redirect URI that is not allowed and an unreachable
 * provider result in an empty URL. The checks run in the order of docs/contract/oidc.md#the-authorization-url
 */
export async function authorize(input: AuthorizeInput, context: AuthorizeContext): Promise<Authorization> {
  const { flow } = context.attempt
  const ready = await context.state.findConfig()
  if (ready === undefined) throw flow.refused(refusal('config_missing', 'could not load configuration'))
  flow.ready = ready
  flow.check('config', hasOidcClient(ready.config) ? undefined : clientMissing(ready.config))
  const name = input.role || ready.config.default_role
  flow.roleName = name
  if (name === '') throw flow.refused(refusal('role_missing', 'missing role'))
  const found = await namedRole(name, context.state.roles)
  const mode = isRefusal(found) ? 'client' : callbackMode(found.record)
  if (input.redirect_uri === '' && mode !== 'device')
    throw flow.refused(
      comparing(refusal('redirect_uri_missing', 'missing redirect_uri'), {
        expected: ['redirect_uri'],
        seen: '',
        hint: '',
      }),
    )
  const role = flow.value('role', found)
  flow.role = role
  if (mode !== 'client' && input.client_nonce === '')
    throw flow.refused(
      comparing(refusal('client_nonce_mismatch', 'missing client_nonce'), {
        expected: ['client_nonce'],
        seen: '',
        hint: '',
      }),
    )
  const target =
    mode === 'device' ? nowhere : redirectTarget(input.redirect_uri, { role, mode, config: ready.config })
  if ('reason' in target) return { refused: flow.note(target) }
  if (mode !== 'device')
    flow.passed('redirect_uri', {
      expected: role.record.allowed_redirect_uris ?? [],
      seen: input.redirect_uri,
    })
  const provider = await reachedProvider(ready)
  if ('reason' in provider) return { refused: flow.note(provider) }
  const start = loginStart(input, { role, mode, config: ready.config, redirectUri: target.uri })
  if (mode === 'device')
    return deviceAuthorization(start, { ...context, config: ready.config, role, provider })
  const { authorization_endpoint: endpoint } = provider.document
  if (!isWebAddress(endpoint))
    return {
      refused: flow.note(comparing(noEndpoint, { expected: ['authorization_endpoint'], seen: endpoint })),
    }
  flow.passed('provider', { expected: [], seen: ready.config.oidc_discovery_url })
  const begun = await context.pending.begin(start, context.remoteAddress)
  const parts = { config: ready.config, role, provider, namespace: target.namespace }
  const auth_url = await authorizationUrl(begun, parts)
  return mode === 'client'
    ? { auth_url }
    : { auth_url, state: begun.state, poll_interval: String(pollInterval(role)) }
}

/** A device is not sent back anywhere. */
const nowhere = { uri: '', namespace: '' }

const loginStart = (
  input: AuthorizeInput,
  {
    role,
    mode,
    config,
    redirectUri,
  }: { role: Role; mode: CallbackMode; config: Config; redirectUri: string },
) => ({
  mode,
  role: role.name,
  client: { discovery_url: config.oidc_discovery_url, id: config.oidc_client_id },
  redirect_uri: redirectUri,
  bound_audiences: role.record.bound_audiences ?? [],
  max_age: role.record.max_age ?? 0,
  clientNonce: input.client_nonce,
  ...(input.scope && { scope: input.scope }),
  usesCode: mode !== 'device' && !wantsIdToken(config),
})

/**
 * Whether the provider sends an ID token directly, even together with a code.
 * docs/contract/oidc.md#the-authorization-url
 */
const wantsIdToken = (config: Config): boolean => config.oidc_response_types.includes('id_token')

/** The settings of a client, as far as they are present. */
function clientMissing(config: Config): Refusal {
  const wanted = ['oidc_discovery_url', 'oidc_client_id', 'oidc_client_secret'] as const
  const seen = wanted.filter((name) => config[name] !== '')
  return comparing(refusal('oidc_not_configured', 'OIDC login is not configured for this mount'), {
    expected: wanted,
    seen,
    hint: '',
  })
}

const noEndpoint = refusal(
  'provider_unreachable',
  'the metadata of the provider has no usable authorization_endpoint',
)

/** Compares the URI with the role's list, which has it without the namespace and in the form of the UI. */
function redirectTarget(
  redirectUri: string,
  { role, mode, config }: { role: Role; mode: CallbackMode; config: Config },
): { uri: string; namespace: string } | Refusal {
  const target = config.namespace_in_state ? takeNamespace(redirectUri) : { uri: redirectUri, namespace: '' }
  if (target === undefined) {
    return comparing(refusal('redirect_uri_refused', 'redirect_uri is no URI'), {
      expected: ['a URI'],
      seen: redirectUri,
      hint: '',
    })
  }
  if (mode === 'direct' && takeNamespace(redirectUri)?.namespace)
    return comparing(
      refusal(
        'redirect_uri_refused',
        'redirect_uri of a role with callback_mode direct must have the namespace in its path: the server does not look for it in the query',
      ),
      {
        expected: ['/v1/<namespace>/auth/<mount>/oidc/callback'],
        seen: redirectUri,
        detail: 'namespace in the query',
        hint: '',
      },
    )
  const allowed = role.record.allowed_redirect_uris ?? []
  if (!isAllowedRedirect(target.uri, allowed)) {
    const refused = refusal(
      'redirect_uri_refused',
      `redirect_uri is not one of the role's allowed_redirect_uris`,
    )
    const detail =
      allowed.length === 0 && role.record.role_type === 'jwt'
        ? 'role_type is jwt, not oidc'
        : redirectDifference(target.uri, allowed)
    return comparing(refused, { expected: allowed, seen: target.uri, detail })
  }
  return config.oidc_response_mode === 'form_post' ? { ...target, uri: formTarget(target.uri) } : target
}

/** The provider of a mount; fetches its metadata if that never happened. docs/contract/jwt.md#keys */
export async function reachedProvider({ config, provider }: ReadyConfig): Promise<ReadyProvider | Refusal> {
  const failing = 'error creating provider with given values: NewProvider: unable to create provider: '
  // the mount may have a new configuration since the login began
  if (provider === undefined || !hasOidcClient(config))
    return refusal('provider_unreachable', `${failing}the mount has no OIDC client`)
  try {
    return await provider.ready()
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error
    return {
      ...discreetRefusal('provider_unreachable', {
        text: `${failing}the provider is unavailable`,
        cause: failing + error.message,
      }),
      compared: {
        expected: [redactUrl(config.oidc_discovery_url)],
        seen: error.message,
        isLong: true,
        hint: '',
      },
    }
  }
}

type AuthorizationParts = {
  readonly config: Config
  readonly role: Role
  readonly provider: ReadyProvider
  readonly namespace: string
}

/**
 * Parameters are sorted by name. The endpoint, which may have a query of its own, stays as the provider wrote
 * it. docs/contract/oidc.md#the-authorization-url
 */
async function authorizationUrl(
  { state, login }: BegunLogin,
  { config, role, provider, namespace }: AuthorizationParts,
): Promise<string> {
  const { authorization_endpoint: endpoint } = provider.document
  const fields = new URLSearchParams({
    client_id: config.oidc_client_id,
    ...(await challengeOf(login)),
    ...(login.max_age > 0 ? { max_age: String(login.max_age) } : {}),
    nonce: login.nonce,
    redirect_uri: login.redirect_uri,
    ...(wantsIdToken(config) ? { response_mode: 'form_post' } : {}),
    response_type: wantsIdToken(config) ? 'id_token' : 'code',
    scope: requestedScope(role),
    state: namespace === '' ? state : `${state},ns=${namespace}`,
  })
  return `${endpoint}${endpoint.includes('?') ? '&' : '?'}${fields.toString()}`
}

const requestedScope = ({ record }: Role): string =>
  [...new Set(['openid', ...(record.oidc_scopes ?? [])])].join(' ')

/** Seconds. `ofProvider` counts if the role has none. docs/contract/oidc.md#callback-modes */
const pollInterval = ({ record }: Role, ofProvider = 0): number => record.poll_interval || ofProvider || 5

/** Begins a login with the provider's device endpoint. docs/contract/oidc.md#callback-modes */
async function deviceAuthorization(
  start: LoginStart,
  context: AuthorizeContext & Omit<AuthorizationParts, 'namespace'>,
): Promise<Authorization> {
  const { config, role, provider, attempt, pending, waits, remoteAddress } = context
  const { document } = provider
  if (!isWebAddress(document.device_authorization_endpoint)) {
    const { reason, text } = attempt.flow.note(
      comparing(refusal('provider_unreachable', 'no device auth endpoint url discovered'), {
        expected: ['device_authorization_endpoint'],
        seen: document.device_authorization_endpoint,
        hint: '',
      }),
    )
    // the provider was reached: another attempt does not help
    throw refuse('invalid', text, { reason })
  }
  const { beginDevice } = await import('./device.ts')
  const { ExchangeError } = await import('./exchange.ts')
  try {
    const begun = await waits.run(remoteAddress, async () => {
      let shown = { auth_url: '' }
      const { state, login } = await pending.begin(start, remoteAddress, async () => {
        const { device_code, interval, ...told } = await beginDevice(requestedScope(role), {
          ...context,
          document,
        })
        shown = told
        return { device_code, interval: pollInterval(role, interval) }
      })
      return { ...shown, state, poll_interval: String(login.interval) }
    })
    attempt.flow.passed('provider', { expected: [], seen: config.oidc_discovery_url })
    return begun
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error
    const failed = 'the provider did not begin a login with a device: '
    const refused = discreetRefusal('provider_unreachable', {
      text: failed + error.told,
      cause: failed + error.message,
    })
    return { refused: attempt.flow.note(refused) }
  }
}

async function challengeOf({ code_verifier: verifier }: PendingLogin): Promise<Record<string, string>> {
  if (verifier === '') return {}
  const { calculatePKCECodeChallenge } = await import('openid-client')
  return { code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }
}
