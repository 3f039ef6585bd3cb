import type { Mount } from '../../../core/mounts/mount.ts'
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
import { historyDays } from '../../../jwt/history/history-days.ts'
import { isSame, refusedBefore } from '../../../jwt/history/judged.ts'
import type { LoginHistory } from '../../../jwt/history/login-history.ts'
import { type FieldChange, type WhatIf, type WhatIfParts, whatIf } from '../../../jwt/history/what-if.ts'
import type { JsonValue } from '../../../lib/text/json.ts'
import { nearMiss } from '../../../logins/refusals/hints.ts'
import type { ReadyConfig } from '../config/config.ts'
import { type Role, readRole } from '../config/role.ts'
import { audiencesOf } from '../login/login.ts'
import { judge, type Tried, type TriedLogin } from './judge.ts'
import { nameKey, namespaceKey } from './noted-login.ts'

export type WhatIfContext = {
  readonly mount: Mount
  readonly history: LoginHistory
  readonly roles: StoredRoles<Role>
  readonly ready: ReadyConfig | undefined
  readonly now: number
  /** Whether the caller may see what a role expects. */
  isSeen(role: string): boolean
}

/** A role before and after, with what the linter says of both. */
type RoleChange = {
  readonly before: Role | undefined
  readonly after: Role
  readonly findings: WhatIf['lint']
}

type Change = { readonly before: Tried | undefined; readonly now: Tried }

/** What a role as it would be written means for those who log in with it. docs/contract/what-if.md */
export async function roleWhatIf(
  { before, after, findings }: RoleChange,
  context: WhatIfContext,
): Promise<WhatIf> {
  const { mount, ready, isSeen } = context
  const common = { ready, tokenType: mount.config.token_type }
  const change = { before: before && { ...common, role: before }, now: { ...common, role: after } }
  return tryAll(context, {
    role: after.name,
    changeOf: () => change,
    values: [before, after].flatMap((role) => (role === undefined ? [] : valuesNamedBy(role))),
    rest: isSeen(after.name)
      ? {
          admits_more: roleAdmitsMore(before, after),
          changes: tokenChanges(['alias_name_source'], before?.record, after.record),
          lint: findings,
        }
      : nothingShown,
  })
}

const nothingShown: WhatIfParts['rest'] = { admits_more: [], changes: [], lint: { before: [], after: [] } }

/** What a configuration as it would be written means for everybody who logs in at the mount. */
export async function configWhatIf(
  after: ReadyConfig,
  context: WhatIfContext,
  findings: WhatIf['lint'],
): Promise<WhatIf> {
  const { mount, ready, roles } = context
  const changes = new Map<string, Change>()
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

type Asked = {
  readonly role: string | undefined
  changeOf(role: string): Change | undefined
  readonly values: readonly string[]
  readonly rest: WhatIfParts['rest']
}

async function tryAll(
  { history, mount, now, isSeen }: WhatIfContext,
  { role, changeOf, values, rest }: Asked,
): Promise<WhatIf> {
  const days = historyDays(mount)
  const known = new KnownValues(await history.hash())
  known.add(values)
  return whatIf({
    days,
    now,
    logins: () => history.logins(days, role),
    tryBoth: (name, login) => {
      const change = changeOf(name)
      const tried: TriedLogin = { login, recalled: recalled(login, known) }
      return (
        change && {
          before: change.before === undefined ? refusedBefore : judge(tried, change.before, change.before),
          now: judge(tried, change.now, change.before ?? { ...change.now, role: readRole('', {}) }),
        }
      )
    },
    describe: (name, login, { name: check }) => {
      const { claims } = recalled(login, known)
      const { expected, seen } = comparedBy(check, {
        tried: changeOf(name)?.now,
        claims,
        address: login.address,
      })
      return {
        expected,
        seen,
        hint: nearMiss({ expected, seen: [seen].flat(), isLiteral: false }),
        detail: '',
      }
    },
    isSeen,
    // the names of a refused login were refused before the cluster vouched for them
    refusals: () => [],
    rest,
  })
}

/** What a check compares, as `explain` shows it. docs/contract/kubernetes.md#explain */
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
