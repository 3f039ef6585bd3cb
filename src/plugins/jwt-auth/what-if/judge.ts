import {
  addressRefusal,
  checkAudience,
  checkUnboundAudience,
  readGroups,
} from '../../../jwt/checks/claims.ts'
import { type RecalledClaims, recalledAudiences } from '../../../jwt/history/hashed-claims.ts'
import {
  coreRefusal,
  isSame,
  type Judged,
  judgedBy,
  passed,
  unknown,
  type Verdict,
  verdict,
} from '../../../jwt/history/judged.ts'
import { anyMatches } from '../../../jwt/history/patterns.ts'
import type { TriedLogin } from '../../../jwt/history/what-if.ts'
import { supportedAlgorithms } from '../../../jwt/jws/algorithms.ts'
import { ownMember } from '../../../jwt/jws/strict-json.ts'
import { allowedKeys } from '../../../jwt/keys/pins.ts'
import { isAllowed } from '../../../jwt/keys/thumbprint.ts'
import { lookupClaim } from '../../../lib/text/json-pointer.ts'
import { type ReasonCode, type Refusal, refusal } from '../../../logins/refusals/refusal.ts'
import { type BoundClaim, checkBoundClaim } from '../checks/bound-claims.ts'
import type { Config } from '../config/jwt-config.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'
import { pointerTo } from './noted-login.ts'

/** The role and the configuration that a remembered login is tried with. */
export type Tried = {
  readonly role: Role
  /** Undefined for a mount that is not configured. */
  readonly ready: ReadyConfig | undefined
  /** The type of the tokens of the mount. */
  readonly tokenType: string | undefined
  /** Of the keys that were fetched for the configuration; undefined if they are not needed, or not known. */
  readonly keyIds: ReadonlySet<string> | undefined
}

/**
 * Whether a remembered login would succeed with `now`, by the login's own checks, as far as its claims are known. What
 * is the same in `before` counts as passed unless it is known to be refused: the login did succeed. Times count as
 * passed. docs/contract/what-if.md#how-a-login-is-tried
 */
export const judge = (tried: TriedLogin, now: Tried, before: Tried): Judged =>
  judgedBy(verdictsOf(tried, now, before))

function* verdictsOf(tried: TriedLogin, now: Tried, before: Tried): Generator<Verdict, void, undefined> {
  const { login } = tried
  const { role, ready } = now
  if (ready === undefined) {
    yield verdict('config', refusal('config_missing', 'could not load configuration'))
    return
  }
  const settled = { ...now, config: ready.config }
  yield* ofWay(tried, settled, before)
  if (role.isCel !== true) yield verdict('address', addressRefusal(role.record, login.address))
  yield* ofKeys(tried, settled, before)
  yield* ofRegistered(tried, settled, before)
  if (role.isCel === true) {
    if (!isSame(role.program, before.role.program)) yield unknown('program')
    return
  }
  yield* ofIdentity(tried, settled, before)
  for (const [index, bound] of role.boundClaims.entries())
    yield { ...ofBoundClaim(tried, bound, before), index }
  yield* ofPolicies(tried, now)
}

type Ready = Tried & { readonly config: Config }

/** How the login came: as a login of its own, as a token, or through a browser. */
function* ofWay({ login }: TriedLogin, { role, config }: Ready, before: Tried): Generator<Verdict> {
  const { record } = role
  if (login.byDefault && config.default_role !== before.ready?.config?.default_role)
    yield config.default_role === ''
      ? verdict('role', refusal('role_missing', 'missing role'))
      : unknown('role')
  if (login.path === 'login' && record.role_type === 'oidc')
    yield verdict('role', refusal('role_type_refused', 'role with oidc role_type is not allowed'))
  if (login.path === 'oidc/callback') yield* ofBrowser(role, config, before)
  if (!login.asToken) return
  const refused = (reason: ReasonCode) => refusal(reason, 'permission denied')
  if (!config.accept_as_token) yield verdict('issuer', refused('issuer_mismatch'))
  if (role.isCel !== true && record.token_replay_protection === true)
    yield verdict('role', refused('role_type_refused'))
  if (config.require_authorization_details)
    yield verdict('authorization_details', refused('authorization_details_invalid'))
  const [most, former] = [config, before.ready?.config].map(
    (one) => one?.token_max_lifetime || Number.POSITIVE_INFINITY,
  )
  if ((most ?? 0) < (former ?? 0)) yield unknown('lifetime')
}

const ofProvider = ({ oidc_discovery_url, oidc_client_id, oidc_client_secret }: Config) => [
  oidc_discovery_url,
  oidc_client_id,
  oidc_client_secret,
]

function* ofBrowser({ record }: Role, config: Config, before: Tried): Generator<Verdict> {
  if (before.ready === undefined || !isSame(ofProvider(config), ofProvider(before.ready.config)))
    yield unknown('provider')
  const uris = record.allowed_redirect_uris ?? []
  const former = before.role.record
  if (!(former.allowed_redirect_uris ?? []).every((uri) => uris.includes(uri))) yield unknown('redirect_uri')
  const [longest, formerly] = [record.max_age ?? 0, former.max_age ?? 0]
  if (longest > 0 && (formerly === 0 || longest < formerly)) yield unknown('times')
}

/** The settings that say which keys verify a signature. */
export const keySources = (config: Config) => [
  config.oidc_discovery_url,
  config.oidc_discovery_ca_pem,
  config.jwks_url,
  config.jwks_ca_pem,
  config.jwks_pairs,
  config.jwt_validation_pubkeys,
  config.override_allowed_server_names,
]

function* ofKeys({ login }: TriedLogin, { config, keyIds }: Ready, before: Tried): Generator<Verdict> {
  const pems = new Set(config.jwt_validation_pubkeys)
  const former = before.ready?.config?.jwt_validation_pubkeys ?? []
  const areKept = former.length > 0 && former.every((pem) => pems.has(pem))
  if (
    before.ready === undefined ||
    !(areKept || isSame(keySources(config), keySources(before.ready.config)))
  ) {
    if (keyIds === undefined || login.keyId === '') yield unknown('signature')
    else if (!keyIds.has(login.keyId))
      yield verdict('signature', refusal('key_unknown', 'no key has this id'))
  }
  yield* ofPins(login.keyId, config, before)
  const usual = login.path === 'oidc/callback' ? ['RS256'] : supportedAlgorithms
  const accepted: readonly string[] = config.jwt_supported_algs.length > 0 ? config.jwt_supported_algs : usual
  if (login.algorithm !== '')
    yield verdict(
      'algorithm',
      accepted.includes(login.algorithm)
        ? undefined
        : refusal('algorithm_not_allowed', 'unexpected algorithm'),
    )
}

/** Which key signed is remembered by its id alone. */
function* ofPins(keyId: string, config: Config, { ready: before }: Tried): Generator<Verdict> {
  const pins = config.allowed_key_thumbprints
  if (pins.length === 0 || isSame(pins, before?.config.allowed_key_thumbprints)) return
  const keys = (before?.keyset.sources() ?? []).flatMap((source) => source.keys)
  const named = keys.filter(({ id }) => keyId === '' || id === '' || id === keyId)
  const allowed = named.filter(({ key }) => isAllowed(key, allowedKeys(config.allowed_key_thumbprints)))
  if (named.length === 0 || (allowed.length > 0 && allowed.length < named.length)) yield unknown('signature')
  else if (allowed.length === 0)
    yield verdict('signature', refusal('key_not_allowed', 'the key is not allowed'))
}

function* ofRegistered(
  { login, recalled }: TriedLogin,
  { role, config }: Ready,
  before: Tried,
): Generator<Verdict> {
  const { record } = role
  const { claims } = recalled
  const isBrowser = login.path === 'oidc/callback'
  const issuer = isBrowser ? '' : config.bound_issuer
  if (issuer !== '') {
    const isChecked = recalled.knows('iss')
    if (isChecked)
      yield verdict(
        'issuer',
        ownMember(claims, 'iss') === issuer
          ? undefined
          : refusal('issuer_mismatch', 'invalid issuer (iss) claim'),
      )
    else if (issuer !== before.ready?.config?.bound_issuer) yield unknown('issuer')
  }
  const subject = record.bound_subject ?? ''
  if (subject !== '') {
    if (recalled.knows('sub'))
      yield verdict(
        'subject',
        ownMember(claims, 'sub') === subject
          ? undefined
          : refusal('subject_mismatch', 'invalid subject (sub) claim'),
      )
    else if (subject !== before.role.record.bound_subject) yield unknown('subject')
  }
  const bound = record.bound_audiences ?? []
  if (!recalled.knows('aud')) {
    if (!isSame(bound, before.role.record.bound_audiences ?? [])) yield unknown('audience')
    return
  }
  yield verdict('audience', checkAudience(recalledAudiences(recalled), bound))
  if (!isBrowser && (role.isCel !== true || login.asToken))
    yield verdict(
      'audience',
      login.asToken && bound.length === 0
        ? refusal('audience_unbound', 'permission denied')
        : checkUnboundAudience(claims, bound),
    )
}

/** The name of the alias, and the groups. */
function* ofIdentity({ recalled }: TriedLogin, { role, config }: Ready, before: Tried): Generator<Verdict> {
  const { record } = role
  const { record: former } = before.role
  const fields = ['user_claim', 'user_claim_json_pointer'] as const
  const name = record.user_claim ?? ''
  if (!fields.every((field) => isSame(record[field], former[field]))) {
    const value =
      record.user_claim_json_pointer === true
        ? lookupClaim(recalled.claims, name)
        : ownMember(recalled.claims, name)
    if (!recalled.knows(name)) yield unknown('user_claim')
    else if (value === undefined || value === null)
      yield verdict('user_claim', refusal('user_claim_missing', 'claim not found in token'))
    else
      yield verdict(
        'user_claim',
        typeof value === 'string' ? undefined : refusal('user_claim_invalid', 'claim is not a text'),
      )
  }
  if (!isSame(config.provider_config, before.ready?.config?.provider_config)) yield unknown('provider')
  if (record.claim_mappings_text_only === true)
    for (const claim of Object.keys(record.claim_mappings ?? {})) yield ofMapping(recalled, claim, former)
  const groups = record.groups_claim ?? ''
  if (groups === '') return
  const isGiven = recalled.knows(groups)
  const groupFields = ['groups_claim', 'groups_claim_optional', 'groups_claim_type'] as const
  if (!groupFields.every((field) => isSame(record[field], former[field]))) {
    // a provider may add what the token does not have
    if (!isGiven || config.provider_config !== null) yield unknown('groups')
    else yield verdict('groups', groupsRefusal(recalled, record))
  }
}

function groupsRefusal({ claims }: RecalledClaims, record: Role['record']): Refusal | undefined {
  const name = record.groups_claim ?? ''
  const value = lookupClaim(claims, name)
  if (record.groups_claim_optional === true && value === undefined) return undefined
  const groups = readGroups(value, name, record.groups_claim_type === 'object_keys')
  return Array.isArray(groups) ? undefined : groups
}

function ofMapping(recalled: RecalledClaims, claim: string, former: Role['record']): Verdict {
  const wasChecked =
    former.claim_mappings_text_only === true && Object.hasOwn(former.claim_mappings ?? {}, claim)
  if (!recalled.knows(claim)) return wasChecked ? passed('metadata') : unknown('metadata')
  const isText = typeof (lookupClaim(recalled.claims, claim) ?? '') === 'string'
  return verdict('metadata', isText ? undefined : refusal('mapping_invalid', 'claim is not a text'))
}

function ofBoundClaim({ login, recalled }: TriedLogin, bound: BoundClaim, before: Tried): Verdict {
  const index = before.role.boundClaims.findIndex(({ name }) => name === bound.name)
  const wasBound = index >= 0 && isSame(plain(before.role.boundClaims[index]), plain(bound))
  const name = 'bound_claims'
  const open = wasBound ? passed(name) : unknown(name)
  const judged = (refused: Refusal | undefined): Verdict => verdict(name, refused)
  if (!recalled.knows(bound.name)) return open
  const { hidden, known } = recalled.textsOf(bound.name)
  if (bound.type === 'string' || hidden === 0) return judged(checkBoundClaim(recalled.claims, bound))
  if ('unusable' in bound.expected || bound.expected.some(({ comparable }) => typeof comparable !== 'string'))
    return judged(checkBoundClaim(recalled.claims, bound))
  const matched = Object.hasOwn(login.matched, bound.name) ? login.matched[bound.name] : undefined
  const matches = anyMatches(
    bound.expected.map(({ text }) => text),
    { hidden, known, matched },
  )
  if (matches === undefined) return open
  return judged(matches ? undefined : refusal('bound_claim_mismatch', 'claim does not match any bound value'))
}

/** Large numbers as texts. */
const plain = (bound: BoundClaim | undefined): unknown =>
  bound && {
    type: bound.type,
    expected:
      'unusable' in bound.expected
        ? bound.expected.unusable
        : bound.expected.map(({ comparable, text }) => `${typeof comparable} ${text}`),
  }

/** The core's checks of the role. */
function* ofPolicies({ recalled }: TriedLogin, { role, tokenType }: Tried): Generator<Verdict> {
  for (const template of role.policyTemplates ?? [])
    for (const steps of template.claims) {
      const claim = pointerTo(steps)
      if (!recalled.knows(claim) && !recalled.knows(steps[0] ?? '')) yield unknown('policies')
      else if (['undefined', 'object'].includes(typeof (lookupClaim(recalled.claims, claim) ?? undefined)))
        yield verdict('policies', refusal('policy_template_failed', 'claim has no text'))
    }
  const refused = coreRefusal(role.record, tokenType)
  if (refused !== undefined) yield refused
}
