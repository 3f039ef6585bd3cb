import type { KeyObject } from 'node:crypto'
import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { loginTerms } from '../../../core/tokens/store/token-fields.ts'
import { addressRefusal, checkToken } from '../../../jwt/checks/claims.ts'
import { ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import type { Hint } from '../../../logins/refusals/hints.ts'
import { checkOfReason, type Refusal, refusal } from '../../../logins/refusals/refusal.ts'
import type { ClusterKeys } from '../cluster/cluster-keys.ts'
import type { ClusterQuestions } from '../cluster/questions.ts'
import { byKeys, type Config, type ReadyConfig } from '../config/config.ts'
import { isBound, type Role } from '../config/role.ts'
import { selects } from '../config/selector.ts'
import { type Account, isAccountName, isNamespace, readAccount } from './account.ts'
import type { CheckName, LoginChecks } from './checks.ts'
import { algorithmRefusal, type ReadToken, readToken, trimmedJwt } from './token.ts'

export type LoginInput = { readonly role: string; readonly jwt: string }

export type LoginContext = {
  readonly maxTokenSize: number
  readonly remoteAddress: string
  findRole(name: string): Promise<Role | undefined>
  findConfig(): Promise<ReadyConfig | undefined>
  /** The keys that verify tokens; undefined if the cluster alone judges. */
  keysOf(ready: ReadyConfig): ClusterKeys | undefined
  /** What is asked of the cluster about this token. */
  questions(ready: ReadyConfig, jwt: string): ClusterQuestions
  /** Milliseconds since the epoch. */
  now(): number
}

/** Who logs in with which role. */
export type Admitted = {
  readonly role: Role
  readonly account: Account
  readonly jwt: string
  readonly claims: StrictObject
  readonly signed: Signed
  /** Metadata of the alias that the account's annotations add. */
  readonly annotations: Readonly<Record<string, string>>
}

/**
 * Runs the checks of docs/contract/kubernetes.md#login-in-this-order in that order. Undefined if one refused, and
 * the checks continue.
 */
export async function examineLogin(
  input: LoginInput,
  context: LoginContext,
  checks: LoginChecks,
): Promise<Admitted | undefined> {
  const role = await roleOf(input, context, checks)
  if (role === undefined) return undefined
  checkAddress(role, context, checks)
  const examined = await examineToken(trimmedJwt(input.jwt), role, context, checks)
  const annotations = examined && (await readAnnotations(examined, checks))
  return annotations && { role, ...examined, annotations }
}

/** Which key signed a token, and of which keys it is one; empty if the cluster alone knows. */
type Signed = { readonly by?: { readonly signer: KeyObject; readonly keys: ClusterKeys } }

/** A token that its role accepts. */
type Examined = {
  readonly jwt: string
  readonly account: Account
  readonly claims: StrictObject
  readonly signed: Signed
  readonly config: Config
  readonly questions: ClusterQuestions
}

async function roleOf(
  { role: sent, jwt }: LoginInput,
  { findRole }: Pick<LoginContext, 'findRole'>,
  checks: LoginChecks,
): Promise<Role | undefined> {
  if (sent === '') checks.check('role', refusal('role_missing', 'missing role'))
  if (sent === '') return undefined
  if (jwt === '') checks.check('token', refusal('token_missing', 'missing jwt'))
  const unknown = () => refusal('role_unknown', `invalid role name ${quoted(sent)}`)
  return checks.value('role', (await findRole(sent.toLowerCase())) ?? unknown())
}

/** The same checks for claims without a token: the cluster is not asked. */
export async function examineGivenClaims(
  { role: sent, claims }: { readonly role: string; readonly claims: StrictObject },
  context: LoginContext,
  checks: LoginChecks,
): Promise<undefined> {
  const role = await roleOf({ role: sent, jwt: 'claims' }, context, checks)
  if (role === undefined) return
  checkAddress(role, context, checks)
  const ready = checks.value('configuration', await configOf(context))
  for (const name of ['token', 'algorithm', 'signature'] as const) checks.skip(name, 'claims were given')
  if (ready === undefined) return
  examineClaims(claims, { role, ready, nowMs: context.now() }, checks)
  skipReview('claims were given', checks)
}

/**
 * The checks of a refused token that need neither a key nor the cluster, so that its record names everything that is
 * wrong with it.
 */
export async function examineRest(
  input: LoginInput,
  context: Omit<LoginContext, 'questions'>,
  checks: LoginChecks,
): Promise<void> {
  const role = await roleOf(input, context, checks)
  if (role === undefined) return
  checkAddress(role, context, checks)
  const ready = checks.value('configuration', await configOf(context))
  const token = ready && checks.value('token', readToken(trimmedJwt(input.jwt), context.maxTokenSize))
  if (ready === undefined || token === undefined) return
  if (context.keysOf(ready) === undefined) checks.skip('signature', ofTheCluster)
  examineClaims(token.claims, { role, ready, nowMs: context.now() }, checks)
}

/** Why no signature is checked here. */
export const ofTheCluster = 'checked by the cluster'

const reviewChecks = ['review', 'review_audience', 'review_identity'] as const

function skipReview(why: string, checks: LoginChecks): void {
  for (const name of reviewChecks) checks.skip(name, why)
}

const configOf = async ({ findConfig }: Pick<LoginContext, 'findConfig'>): Promise<ReadyConfig | Refusal> =>
  (await findConfig()) ?? refusal('config_missing', 'could not load backend configuration')

const checkAddress = (
  role: Role,
  { remoteAddress }: Pick<LoginContext, 'remoteAddress'>,
  checks: LoginChecks,
): boolean =>
  checks.check('address', addressRefusal(role.record, remoteAddress), {
    expected: role.record.token_bound_cidrs ?? [],
    seen: remoteAddress,
  })

/** The checks that a renewal repeats. docs/contract/kubernetes.md#renewal */
export async function examineToken(
  jwt: string,
  role: Role,
  context: LoginContext,
  checks: LoginChecks,
): Promise<Examined | undefined> {
  const ready = checks.value('configuration', await configOf(context))
  if (ready === undefined) return undefined
  const token = checks.value('token', readToken(jwt, context.maxTokenSize))
  if (token === undefined) return undefined
  const signed = await checkSignature(token, ready, context, checks)
  const account = examineClaims(token.claims, { role, ready, nowMs: context.now() }, checks)
  // nothing unverified reaches the cluster but a token whose claims fit the role
  if (signed === undefined || account === undefined || checks.refused !== undefined) return undefined
  const questions = context.questions(ready, jwt)
  if (byKeys(ready)) skipReview('checked by key', checks)
  else if (!(await checkReview({ questions, role, account, claims: token.claims }, checks))) return undefined
  const isSelected = await checkLabels({ questions, role, account }, checks)
  return isSelected
    ? { jwt, account, claims: token.claims, signed, config: ready.config, questions }
    : undefined
}

/** Undefined if a key is needed and none has signed. */
async function checkSignature(
  { jws, algorithm }: ReadToken,
  ready: ReadyConfig,
  { remoteAddress: client, keysOf }: LoginContext,
  checks: LoginChecks,
): Promise<Signed | undefined> {
  const keys = keysOf(ready)
  const isFit = checks.check('algorithm', algorithmRefusal(algorithm, keys !== undefined), {
    expected: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'],
    seen: algorithm,
  })
  if (keys === undefined) {
    checks.skip('signature', ofTheCluster)
    return isFit ? {} : undefined
  }
  const verified = await keys.verifySignature({ ...jws, algorithm }, client)
  if (!('reason' in verified)) {
    checks.check('signature', undefined)
    return { by: { signer: verified.signer, keys } }
  }
  checks.check('signature', unsigned(verified), {
    expected: verified.reason === 'key_not_allowed' ? ready.config.allowed_key_thumbprints : [],
    seen: null,
    hint: verified.reason === 'key_unknown' ? 'other_cluster' : '',
  })
  return undefined
}

/** The refusal of a token that no key verifies. The caller is not told why. */
const unsigned = (refused: Refusal): Refusal => ({
  ...refused,
  text: 'permission denied',
  cause: refused.cause ?? `error verifying token signature: ${refused.text}`,
})

/** The account that the claims name. */
function examineClaims(
  claims: StrictObject,
  { role, ready: { config }, nowMs }: { role: Role; ready: ReadyConfig; nowMs: number },
  checks: LoginChecks,
): Account | undefined {
  checkRegistered(claims, { role, config, nowMs }, checks)
  const account = checks.value('claims', readAccount(claims))
  if (account === undefined) return undefined
  checkNames(account, role, checks)
  // the review would refuse it
  checks.check('uid', account.uid === '' ? refusal('uid_missing', 'permission denied') : undefined)
  return account
}

const timeChecks: ReadonlyMap<string, CheckName> = new Map([
  ['expired', 'expiry'],
  ['not_yet_valid', 'not_before'],
  ['issued_in_future', 'issued_at'],
])

function checkRegistered(
  claims: StrictObject,
  { role, config, nowMs }: { role: Role; config: Config; nowMs: number },
  checks: LoginChecks,
): void {
  const rules = {
    bound_issuer: config.disable_iss_validation && !byKeys({ config }) ? '' : config.issuer,
    bound_subject: '',
    bound_audiences: audiencesOf(role),
    expiration_leeway: 0,
    not_before_leeway: 0,
    clock_skew_leeway: 0,
    onlySkew: true,
    areOptional: true,
  }
  const at = (name: string) => ({ seen: ownMember(claims, name) ?? null })
  const compared = {
    issuer: { expected: [rules.bound_issuer], ...at('iss') },
    audience: { expected: rules.bound_audiences, ...at('aud'), hint: audienceHint(claims) },
  }
  checkToken(claims, rules, nowMs, (name, refused) => {
    if (name === 'issuer' || name === 'audience')
      checks.check(name, refused ?? unboundAudience(name, role, config), compared[name])
    else if (name === 'times') checkTime(refused, at, checks)
    else if (refused !== undefined) checks.check('claims', refused)
  })
  if (byKeys({ config })) checks.check('expiry', lifetimeRefusal(claims, config))
}

/** Tokens that pods have without asking for one. */
function audienceHint(claims: StrictObject): Hint | undefined {
  if (!Object.hasOwn(claims, 'aud') && !Object.hasOwn(claims, 'exp')) return 'legacy_token'
  const audiences: unknown[] = [ownMember(claims, 'aud') ?? []].flat()
  return audiences.includes(ownMember(claims, 'iss')) ? 'default_audience' : undefined
}

/** Nobody else sees to it that a token for another service opens nothing here. */
const unboundAudience = (name: 'issuer' | 'audience', role: Role, config: Config): Refusal | undefined =>
  name === 'audience' && byKeys({ config }) && audiencesOf(role).length === 0
    ? refusal('audience_unbound', 'permission denied')
    : undefined

/** Nobody else ends a token before its time. */
function lifetimeRefusal(claims: StrictObject, { token_max_lifetime: most }: Config): Refusal | undefined {
  const [expiresAt, issuedAt] = ['exp', 'iat'].map((name) => Number(ownMember(claims, name) ?? 0))
  if (!expiresAt || !issuedAt) return refusal('times_missing', 'permission denied')
  return most > 0 && expiresAt - issuedAt > most ? refusal('lives_too_long', 'permission denied') : undefined
}

function checkTime(
  refused: Refusal | undefined,
  at: (name: string) => { seen: unknown },
  checks: LoginChecks,
) {
  const claimOf = { expiry: 'exp', not_before: 'nbf', issued_at: 'iat' } as const
  const failed = refused && timeChecks.get(refused.reason)
  for (const name of ['expiry', 'not_before', 'issued_at'] as const)
    if (failed === undefined || failed === name)
      checks.check(name, refused, {
        expected: [],
        ...at(claimOf[name]),
        detail: claimOf[name],
        hint: failed === 'expiry' ? 'expired_in_file' : undefined,
      })
}

/** The audience of the role; empty if it has none. */
export const audiencesOf = ({ record: { audience = '' } }: Role): string[] =>
  audience === '' ? [] : [audience]

/** Names that no cluster has are refused too: they would lead a request elsewhere. */
function checkNames({ name, namespace }: Account, { record, selector }: Role, checks: LoginChecks): void {
  const names = record.bound_service_account_names ?? []
  const isName = isBound(names, name) && isAccountName(name)
  checks.check(
    'service_account_name',
    isName ? undefined : refusal('service_account_name_refused', 'service account name not authorized'),
    { expected: names, seen: name },
  )
  const namespaces = record.bound_service_account_namespaces ?? []
  const mayBe = selector !== undefined || isBound(namespaces, namespace)
  checks.check('namespace', mayBe && isNamespace(namespace) ? undefined : namespaceRefusal, {
    expected: namespaces,
    seen: namespace,
  })
}

const namespaceRefusal = refusal('namespace_refused', 'namespace not authorized')

type Asked = { readonly questions: ClusterQuestions; readonly role: Role; readonly account: Account }

/** Whether the cluster accepts the token. Without an audience of the role, those of the token are asked for. */
async function checkReview(
  { questions, role, account, claims }: Asked & { readonly claims: StrictObject },
  checks: LoginChecks,
): Promise<boolean> {
  const own = [ownMember(claims, 'aud') ?? []].flat().filter((one) => typeof one === 'string')
  const wanted = audiencesOf(role)
  const audiences = wanted.length > 0 ? wanted : own
  const refused = await questions.review({ account, audiences })
  const failed = refused && checkOfReason(refused.reason)
  for (const name of reviewChecks)
    if (!checks.check(name, name === failed ? refused : undefined)) return false
  return true
}

/** A namespace that is not listed must have the labels of the selector. */
async function checkLabels({ questions, role, account }: Asked, checks: LoginChecks): Promise<boolean> {
  const { selector, record } = role
  if (selector === undefined || isBound(record.bound_service_account_namespaces, account.namespace))
    return true
  const answer = await questions.labels(account.namespace)
  if ('refused' in answer) return checks.check('namespace_labels', answer.refused)
  const { found: labels } = answer
  const seen = Object.keys(selector).map(
    (name) => `${name}=${Object.hasOwn(labels, name) ? labels[name] : ''}`,
  )
  return checks.check(
    'namespace_labels',
    selects(selector, labels) ? undefined : refusal('namespace_labels_refused', 'namespace not authorized'),
    { expected: Object.entries(selector).map((pair) => pair.join('=')), seen },
  )
}

/** Keys of the alias metadata that annotations cannot set. */
const own = [
  'service_account_name',
  'service_account_namespace',
  'service_account_secret_name',
  'service_account_uid',
]
const annotation = 'vault.hashicorp.com/alias-metadata-'

async function readAnnotations(
  { questions, config, account }: Examined,
  checks: LoginChecks,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (!config.use_annotations_as_alias_metadata) return {}
  const answer = await questions.annotations(account)
  if ('refused' in answer) {
    checks.check('annotations', answer.refused)
    return undefined
  }
  const pairs = Object.entries(answer.found)
    .filter(([name]) => name.startsWith(annotation))
    .map(([name, value]) => [name.slice(annotation.length), value] as const)
  const reserved = pairs.find(([name]) => own.includes(name))?.[0]
  const refused =
    reserved === undefined
      ? undefined
      : refusal(
          'annotations_invalid',
          `entity alias metadata keys for only internal use found from the client token's associated service account annotations: ${quoted(reserved)}`,
        )
  return checks.check('annotations', refused) ? Object.fromEntries(pairs) : undefined
}

/** What the role grants. The token keeps the JWT if its renewals ask the cluster about it. */
export function grantOf(
  { role, account, jwt, annotations }: Admitted,
  { keepsToken }: { readonly keepsToken: boolean },
): LoginAuth {
  const { name, record } = role
  const metadata = {
    service_account_name: account.name,
    service_account_namespace: account.namespace,
    service_account_secret_name: account.secretName,
    service_account_uid: account.uid,
  }
  const place = `${account.namespace}/${account.name}`
  return {
    alias: {
      name: record.alias_name_source === 'serviceaccount_name' ? place : account.uid,
      metadata: { ...annotations, ...metadata },
    },
    metadata: { role: name, ...metadata },
    displayName: `${account.namespace}-${account.name}`,
    groupNames: [],
    ...loginTerms(record),
    internal: { role: name, ...(keepsToken && { jwt }) },
  }
}
