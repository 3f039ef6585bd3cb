import type { StoredRoles } from '../../../core/records/stored-roles.ts'
import {
  addedItems,
  addedPatterns,
  pinsLifted,
  shortText,
  tokenChanges,
  when,
} from '../../../jwt/history/field-changes.ts'
import { KnownValues, recalled } from '../../../jwt/history/hashed-claims.ts'
import {
  isSame,
  type JudgedNow,
  judgedBy,
  judgedNowBy,
  notJudged,
  passed,
  unknown,
  type Verdict,
} from '../../../jwt/history/judged.ts'
import type { JwtFailures } from '../../../jwt/history/sent-token.ts'
import {
  type AskedChange,
  type FieldChange,
  nothingShown,
  tryLogins,
  type WhatIf,
  type WhatIfPlace,
} from '../../../jwt/history/what-if.ts'
import type { JsonValue } from '../../../lib/text/json.ts'
import type { ExplainedCheck } from '../../../logins/explain/explained.ts'
import { nearMiss } from '../../../logins/refusals/hints.ts'
import { byKeys, type ReadyConfig } from '../config/config.ts'
import { type Role, readRole } from '../config/role.ts'
import { audiencesOf } from '../login/login.ts'
import { judge, type Tried } from './judge.ts'
import { nameKey, namespaceKey } from './noted-login.ts'

export type WhatIfContext = WhatIfPlace & {
  readonly roles: StoredRoles<Role>
  readonly ready: ReadyConfig | undefined
}

/** A role before and after, with the findings of the linter. Undefined: there is none. */
type RoleChange = {
  readonly name: string
  readonly before: Role | undefined
  readonly after: Role | undefined
  readonly findings: WhatIf['lint']
}

/** The report for those who log in with a role. docs/contract/what-if.md */
export async function roleWhatIf(
  { name, before, after, findings }: RoleChange,
  context: WhatIfContext,
): Promise<WhatIf> {
  const { mount, ready, isSeen } = context
  const triedWith = (role: Role | undefined): Tried | undefined =>
    role && { role, ready, tokenType: mount.config.token_type }
  const change = { before: triedWith(before), now: triedWith(after) }
  return tryAll(context, {
    role: name,
    changeOf: () => change,
    values: [before, after].flatMap((role) => (role === undefined ? [] : valuesNamedBy(role))),
    rest: isSeen(name)
      ? {
          admits_more: after === undefined ? [] : roleAdmitsMore(before, after),
          changes:
            after === undefined ? [] : tokenChanges(['alias_name_source'], before?.record, after.record),
          lint: findings,
        }
      : nothingShown,
  })
}

/** The report of a configuration for everybody who logs in at the mount. */
export async function configWhatIf(
  after: ReadyConfig,
  context: WhatIfContext,
  findings: WhatIf['lint'],
): Promise<WhatIf> {
  const { mount, ready, roles } = context
  const changes = new Map<string, { before: Tried | undefined; now: Tried }>()
  for (const role of await roles.all()) {
    const now = { role, ready: after, tokenType: mount.config.token_type }
    changes.set(role.name, { before: ready && { ...now, ready }, now })
  }
  return tryAll(context, {
    role: undefined,
    changeOf: (name) => changes.get(name),
    values: [...changes.values()].flatMap(({ now }) => valuesNamedBy(now.role)),
    rest: { ...nothingShown, admits_more: configAdmitsMore(ready, after), lint: findings },
  })
}

/** The names that a role has in full. */
const valuesNamedBy = ({ record }: Role): string[] =>
  [...(record.bound_service_account_names ?? []), ...(record.bound_service_account_namespaces ?? [])].filter(
    (name) => !name.includes('*'),
  )

const tryAll = (context: WhatIfContext, asked: AskedChange<Tried>): Promise<WhatIf> =>
  tryLogins<Tried>(context, asked, {
    judge,
    nobody: (now) => ({ ...now, role: readRole('', {}) }),
    describe: (_name, { address }, { tried, claims, verdict }) => {
      const { expected, seen } = comparedBy(verdict.name, { tried, claims, address })
      const hint = nearMiss({ expected, seen: [seen].flat(), isLiteral: false })
      return { expected, seen, hint, detail: '' }
    },
    // the names of a refused login were refused before the cluster vouched for them
    refusals: () => [],
  })

/** The values that a check compares, as `explain` shows it. docs/contract/kubernetes.md#explain */
function comparedBy(
  check: string,
  {
    tried,
    claims,
    address,
  }: { tried: Tried | undefined; claims: Readonly<Record<string, unknown>>; address: string },
): { readonly expected: readonly JsonValue[]; readonly seen: JsonValue } {
  const record: Role['record'] = tried?.role.record ?? {}
  // texts and lists of texts
  const at = (key: string) => (claims[key] ?? null) as JsonValue
  switch (check) {
    case 'service_account_name':
      return { expected: record.bound_service_account_names ?? [], seen: at(nameKey) }
    case 'namespace':
      return { expected: record.bound_service_account_namespaces ?? [], seen: at(namespaceKey) }
    case 'audience':
      return { expected: tried === undefined ? [] : audiencesOf(tried.role), seen: at('aud') }
    case 'issuer':
      return { expected: [tried?.ready?.config.issuer ?? ''], seen: at('iss') }
    case 'address':
      return { expected: record.token_bound_cidrs ?? [], seen: address }
    default:
      return { expected: [], seen: null }
  }
}

function roleAdmitsMore(before: Role | undefined, { record, selector }: Role): FieldChange[] {
  if (before === undefined) return [{ field: 'role', text: 'the role is new' }]
  const former = before.record
  const names = 'bound_service_account_names'
  const namespaces = 'bound_service_account_namespaces'
  const [audience, formerly] = [record.audience ?? '', former.audience ?? '']
  return [
    ...addedPatterns(names, former[names] ?? [], record[names] ?? []),
    ...addedPatterns(namespaces, former[namespaces] ?? [], record[namespaces] ?? []),
    ...when(
      selector !== undefined && !isSame(selector, before.selector),
      'bound_service_account_namespace_selector',
      'namespaces with other labels',
    ),
    ...when(
      formerly !== '' && audience !== formerly,
      'audience',
      audience === '' ? 'tokens for any audience' : `tokens for audience ${shortText(audience)}`,
    ),
    ...addedItems(
      'token_bound_cidrs',
      former.token_bound_cidrs ?? [],
      record.token_bound_cidrs ?? [],
      'any address',
    ),
  ]
}

function configAdmitsMore(before: ReadyConfig | undefined, { config }: ReadyConfig): FieldChange[] {
  if (before === undefined) return [{ field: 'config', text: 'the configuration is new' }]
  const former = before.config
  const other = (['kubernetes_host', 'pem_keys', 'verification'] as const).filter(
    (field) => !isSame(config[field], former[field]),
  )
  return [
    ...other.map((field) => ({ field, text: 'tokens that another cluster, or another key, vouches for' })),
    ...pinsLifted(former.allowed_key_thumbprints, config.allowed_key_thumbprints),
    ...when(
      config.disable_iss_validation && !former.disable_iss_validation,
      'disable_iss_validation',
      'tokens of any issuer',
    ),
    ...when(
      former.issuer !== '' && config.issuer !== former.issuer,
      'issuer',
      config.issuer === '' ? 'tokens of any issuer' : `tokens of issuer ${shortText(config.issuer)}`,
    ),
  ]
}

type KeptFailure = NonNullable<ReturnType<JwtFailures['find']>>

/**
 * How a refused login would go with a role, and the configuration, as they are now. The token is not kept, so the cluster
 * cannot be asked about it.
 */
export async function judgedNow(
  { failure, kept, trace: { checks } }: KeptFailure,
  role: Role,
  { mount, ready, history }: Pick<WhatIfContext, 'mount' | 'ready' | 'history'>,
): Promise<JudgedNow> {
  if (kept === undefined) return notJudged
  const known = new KnownValues(await history.hash())
  known.add([...valuesNamedBy(role), ...checks.flatMap(({ seen }) => [seen].flat())])
  const login = {
    path: 'login',
    asToken: false,
    byDefault: false,
    address: failure.remote_address,
    algorithm: '',
    keyId: '',
    matched: {},
  } as const
  const now = { role, ready, tokenType: mount.config.token_type }
  const { made } = judge({ login, recalled: recalled(kept, known) }, now, { ...now, role: readRole('', {}) })
  return judgedNowBy(judgedBy([...made, ofVoucher(checks, ready)]))
}

/** A key that verified the token still does; the cluster says anew what it thinks of each token. */
function ofVoucher(checks: readonly ExplainedCheck[], ready: ReadyConfig | undefined): Verdict {
  if (ready === undefined || !byKeys(ready)) return unknown('review')
  const isVerified = checks.some(({ name, verdict }) => name === 'signature' && verdict === 'pass')
  return isVerified ? passed('signature') : unknown('signature')
}
