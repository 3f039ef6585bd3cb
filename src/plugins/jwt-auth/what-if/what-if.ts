import type { Mount } from '../../../core/mounts/mount.ts'
import type { KeyedHash } from '../../../core/records/keyed-hash.ts'
import { tokenChanges } from '../../../jwt/history/field-changes.ts'
import { KnownValues, recalled } from '../../../jwt/history/hashed-claims.ts'
import { historyDays } from '../../../jwt/history/history-days.ts'
import { refusedBefore } from '../../../jwt/history/judged.ts'
import type { LoginHistory, RememberedLogin } from '../../../jwt/history/login-history.ts'
import type { JwtFailures } from '../../../jwt/history/sent-token.ts'
import {
  onlyChanged,
  type TriedTwice,
  type WhatIf,
  type WhatIfParts,
  whatIf,
} from '../../../jwt/history/what-if.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import { askedOf } from '../cel/cel-login.ts'
import type { Config } from '../config/jwt-config.ts'
import type { MountState, ReadyConfig } from '../config/mount-state.ts'
import { type Role, readRole } from '../config/role.ts'
import { describe } from '../explain/describe.ts'
import type { Finding } from '../explain/lint.ts'
import { configAdmitsMore, roleAdmitsMore } from './changes.ts'
import { judge, keySources, type Tried, type TriedLogin } from './judge.ts'

export type WhatIfContext = {
  readonly mount: Mount
  readonly state: MountState
  readonly history: LoginHistory
  readonly failures: JwtFailures
  readonly now: number
  /** Whether the caller may see what a role expects. */
  isSeen(role: string): boolean
  lint(role: Role | undefined, config: Config | undefined): Promise<readonly Finding[]>
}

/** What a role, and a configuration, would be changed to. */
type Change = { readonly before: Tried | undefined; readonly now: Tried }

/** What a role as it would be written means for those who log in with it. docs/contract/what-if.md */
export async function roleWhatIf(
  before: Role | undefined,
  after: Role,
  context: WhatIfContext,
): Promise<WhatIf> {
  const { mount, state, isSeen, lint } = context
  const ready = await state.findConfig()
  const tokenType = mount.config.token_type
  const common = { ready, tokenType, keyIds: undefined }
  const change = { before: before && { ...common, role: before }, now: { ...common, role: after } }
  return tryAll(context, {
    role: after.name,
    changeOf: () => change,
    values: [before, after].flatMap((role) => (role === undefined ? [] : valuesNamedBy(role))),
    rest: isSeen(after.name)
      ? {
          admits_more: roleAdmitsMore(before, after),
          changes: tokenChanges(['user_claim'], before?.record, after.record),
          lint: { before: await lint(before, ready?.config), after: await lint(after, ready?.config) },
        }
      : nothingShown,
  })
}

const nothingShown: WhatIfParts['rest'] = { admits_more: [], changes: [], lint: { before: [], after: [] } }

/** What a configuration as it would be written means for everybody who logs in at the mount. */
export async function configWhatIf(config: Config, context: WhatIfContext): Promise<WhatIf> {
  const { mount, state } = context
  const before = await state.findConfig()
  const isOtherwiseKeyed =
    before === undefined || JSON.stringify(keySources(before.config)) !== JSON.stringify(keySources(config))
  const ready = isOtherwiseKeyed ? state.readied(config) : { ...before, config }
  if (isOtherwiseKeyed) await ready.keyset.refresh()
  const tokenType = mount.config.token_type
  const keyIds = isOtherwiseKeyed ? keyIdsOf(ready) : undefined
  const roles = new Map<string, Change>()
  for (const role of [...(await state.roles.all()), ...(await state.celRoles.all()).map(askedOf)]) {
    const name = role.isCel === true ? `cel/${role.name}` : role.name
    const now = { role, ready, tokenType, keyIds }
    roles.set(name, { before: before && { ...now, ready: before, keyIds: undefined }, now })
  }
  return tryAll(context, {
    role: undefined,
    changeOf: (name) => roles.get(name),
    values: [...roles.values()].flatMap(({ now }) => valuesNamedBy(now.role)),
    rest: {
      ...nothingShown,
      admits_more: configAdmitsMore(before?.config, config),
      lint: await changedFindings([...roles], { before: before?.config, config }, context),
    },
  })
}

/** The findings about roles that may be seen, without those that stay. */
async function changedFindings(
  roles: readonly (readonly [name: string, change: Change])[],
  { before, config }: { before: Config | undefined; config: Config },
  { isSeen, lint }: WhatIfContext,
): Promise<WhatIf['lint']> {
  const found = { before: [] as Finding[], after: [] as Finding[] }
  for await (const page of pagesOf(roles))
    for (const [name, { now }] of page) {
      if (now.role.isCel === true || !isSeen(name)) continue
      found.before.push(...(await lint(now.role, before)))
      found.after.push(...(await lint(now.role, config)))
    }
  return onlyChanged(found)
}

/** Undefined if a key has no id, so that none can be missed. */
function keyIdsOf({ keyset }: ReadyConfig): ReadonlySet<string> | undefined {
  const ids = keyset.sources().flatMap(({ keys }) => keys.map(({ id }) => id))
  return ids.length === 0 || ids.includes('') ? undefined : new Set(ids)
}

/** The values that a role compares claims with. */
const valuesNamedBy = ({ record, boundClaims }: Role): unknown[] => [
  ...(record.bound_subject === undefined ? [] : [record.bound_subject]),
  ...boundClaims.flatMap(({ expected }) =>
    'unusable' in expected ? [] : expected.flatMap(({ comparable }) => comparable ?? []),
  ),
]

type Asked = {
  /** Undefined for all. */
  readonly role: string | undefined
  /** What changes for a role; undefined if it is gone. */
  changeOf(role: string): Change | undefined
  readonly values: readonly unknown[]
  readonly rest: WhatIfParts['rest']
}

async function tryAll(context: WhatIfContext, { role, changeOf, values, rest }: Asked): Promise<WhatIf> {
  const { history, mount, now, isSeen } = context
  const days = historyDays(mount)
  const hash = await history.hash()
  const known = new KnownValues(hash)
  known.add(values)
  const twice = (tried: TriedLogin, change: Change): TriedTwice => ({
    before: change.before === undefined ? refusedBefore : judge(tried, change.before, change.before),
    now: judge(tried, change.now, change.before ?? nobody(change.now)),
  })
  const triedOf = (login: RememberedLogin): TriedLogin => ({ login, recalled: recalled(login, known) })
  return whatIf({
    days,
    now,
    logins: () => history.logins(days, role),
    tryBoth: (name, login) => {
      const change = changeOf(name)
      return change && twice(triedOf(login), change)
    },
    describe: (name, login, { name: check, refused, index = 0 }) => {
      const tried = changeOf(name)?.now
      const facts = {
        ready: tried?.ready,
        role: tried?.role,
        roleName: name,
        roleNames: [],
        remoteAddress: login.address,
        keyId: login.keyId,
        algorithm: login.algorithm,
        claims: recalled(login, known).claims,
        nowMs: now,
        offset: undefined,
      }
      // the words of the refusal are those of the login's own check
      return describe(check as Parameters<typeof describe>[0], facts, { refused: refused as never }, index)
    },
    isSeen,
    refusals: () => triedFailures(context, { role, changeOf, values, hash, twice }),
    rest,
  })
}

/** With it, nothing is the same as before. */
const nobody = ({ tokenType, ready }: Tried): Tried => ({
  role: readRole('', {}),
  ready,
  tokenType,
  keyIds: undefined,
})

function* triedFailures(
  { failures, mount, now, isSeen }: WhatIfContext,
  {
    role,
    changeOf,
    values,
    hash,
    twice,
  }: Omit<Asked, 'rest'> & { hash: KeyedHash; twice(tried: TriedLogin, change: Change): TriedTwice },
): Generator<TriedTwice & { requestId: string }> {
  const since = now - historyDays(mount) * 86_400_000
  for (const { failure, kept: claims, trace } of failures.kept()) {
    const change = changeOf(failure.role)
    const isConcerned = role === undefined || failure.role === role
    // a program would have to judge the claims themselves
    const isJudged = failure.path === 'login' || failure.path === 'oidc/callback'
    if (claims === undefined || change === undefined || !isConcerned || !isJudged) continue
    if (Date.parse(failure.time) < since) continue
    // what an operator sees of a refused login is seen of no other one
    const known = new KnownValues(hash)
    known.add(values)
    known.add(trace.checks.flatMap(({ seen }) => [seen].flat()))
    const login = {
      path: failure.path,
      asToken: failure.as_token,
      byDefault: false,
      address: failure.remote_address,
      algorithm: failure.alg,
      keyId: failure.kid,
      matched: {},
    } as const
    const requestId = isSeen(failure.role) ? failure.request_id : ''
    yield { requestId, ...twice({ login, recalled: recalled(claims, known) }, change) }
  }
}
