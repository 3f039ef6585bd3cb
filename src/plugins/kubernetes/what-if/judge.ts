import { addressRefusal, checkAudience } from '../../../jwt/checks/claims.ts'
import { recalledAudiences } from '../../../jwt/history/hashed-claims.ts'
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
import { ownMember } from '../../../jwt/jws/strict-json.ts'
import { type Refusal, refusal } from '../../../logins/refusals/refusal.ts'
import { byKeys, type ReadyConfig } from '../config/config.ts'
import type { Role } from '../config/role.ts'
import { audiencesOf } from '../login/login.ts'
import { nameKey, namespaceKey } from './noted-login.ts'

/** The role and the configuration that a remembered login is tried with. */
export type Tried = {
  readonly role: Role
  /** Undefined for a mount that is not configured. */
  readonly ready: ReadyConfig | undefined
  /** The type of the tokens of the mount. */
  readonly tokenType: string | undefined
}

/** Like that of JWT mounts; what the cluster would say counts as it was. docs/contract/what-if.md#mounts-of-type-kubernetes */
export const judge = (tried: TriedLogin, now: Tried, before: Tried): Judged =>
  judgedBy(verdictsOf(tried, now, before))

function* verdictsOf(tried: TriedLogin, now: Tried, before: Tried): Generator<Verdict> {
  const { login } = tried
  const { role, ready } = now
  yield verdict('address', addressRefusal(role.record, login.address))
  if (ready === undefined) {
    yield verdict('configuration', refusal('config_missing', 'could not load backend configuration'))
    return
  }
  yield* ofConfig(tried, ready, before)
  yield ofAudience(tried, now, before)
  yield* ofNames(tried, role, before.role)
  const refused = coreRefusal(role.record, now.tokenType)
  if (refused !== undefined) yield refused
}

/** The settings that say how the cluster is asked, and whose keys count. */
const ofCluster = ({ config }: ReadyConfig) => [
  config.kubernetes_host,
  config.kubernetes_ca_cert,
  config.token_reviewer_jwt,
  config.pem_keys,
  config.disable_local_ca_jwt,
  config.verification,
  config.allowed_key_thumbprints,
]

function* ofConfig(
  { recalled }: TriedLogin,
  ready: ReadyConfig,
  { ready: before }: Tried,
): Generator<Verdict> {
  const { config } = ready
  const issuer = config.disable_iss_validation && !byKeys(ready) ? '' : config.issuer
  if (issuer !== '') {
    const isIssuer = ownMember(recalled.claims, 'iss') === issuer
    if (!recalled.knows('iss')) yield unknown('issuer')
    else
      yield verdict('issuer', isIssuer ? undefined : refusal('issuer_mismatch', 'invalid issuer (iss) claim'))
  }
  if (before === undefined || !isSame(ofCluster(ready), ofCluster(before))) yield unknown('review')
  const lifetime = ({ token_max_lifetime: most }: ReadyConfig['config']) => most || Number.POSITIVE_INFINITY
  if (byKeys(ready) && before !== undefined && lifetime(config) < lifetime(before.config))
    yield unknown('lifetime')
  if (config.use_annotations_as_alias_metadata && before?.config.use_annotations_as_alias_metadata !== true)
    yield unknown('annotations')
}

function ofAudience({ recalled }: TriedLogin, { role, ready }: Tried, before: Tried): Verdict {
  const bound = audiencesOf(role)
  if (bound.length === 0)
    return verdict(
      'audience',
      ready !== undefined && byKeys(ready) ? refusal('audience_unbound', 'permission denied') : undefined,
    )
  if (!recalled.knows('aud'))
    return isSame(bound, audiencesOf(before.role)) ? passed('audience') : unknown('audience')
  return verdict('audience', checkAudience(recalledAudiences(recalled), bound))
}

function* ofNames({ login, recalled }: TriedLogin, role: Role, before: Role): Generator<Verdict> {
  const matches = (key: string, patterns: readonly string[] = []) =>
    anyMatches(patterns, { ...recalled.textsOf(key), matched: login.matched[key] })
  const told = (
    name: string,
    [isMatched, isUnchanged]: [boolean | undefined, boolean],
    refused: Refusal,
  ): Verdict =>
    isMatched === undefined
      ? isUnchanged
        ? passed(name)
        : unknown(name)
      : verdict(name, isMatched ? undefined : refused)
  const { bound_service_account_names: names, bound_service_account_namespaces: namespaces } = role.record
  yield told(
    'service_account_name',
    [matches(nameKey, names), isSame(names, before.record.bound_service_account_names)],
    refusal('service_account_name_refused', 'service account name not authorized'),
  )
  const isListed = matches(namespaceKey, namespaces)
  const isUnchanged =
    isSame(namespaces, before.record.bound_service_account_namespaces) &&
    isSame(role.selector, before.selector)
  const refused = refusal('namespace_refused', 'namespace not authorized')
  // the labels of a namespace are not remembered
  if (role.selector !== undefined && isListed !== true)
    yield isUnchanged ? passed('namespace_labels') : unknown('namespace_labels')
  else yield told('namespace', [isListed, isUnchanged], refused)
}
