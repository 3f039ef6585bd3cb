import { tokenChanges } from '../../../jwt/history/field-changes.ts'
import { KnownValues, recalled } from '../../../jwt/history/hashed-claims.ts'
import { historyDays } from '../../../jwt/history/history-days.ts'
import { type JudgedNow, judgedNowBy, notJudged } from '../../../jwt/history/judged.ts'
import type { JwtFailures } from '../../../jwt/history/sent-token.ts'
import {
  type AskedChange,
  type Judging,
  nothingShown,
  onlyChanged,
  type TriedLogin,
  type TriedRefusals,
  tryLogins,
  type WhatIf,
  type WhatIfPlace,
} from '../../../jwt/history/what-if.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import { askedOf } from '../cel/cel-login.ts'
import type { Config } from '../config/jwt-config.ts'
import type { MountState, ReadyConfig } from '../config/mount-state.ts'
import { type Role, readRole } from '../config/role.ts'
import { describe } from '../explain/describe.ts'
import type { Finding } from '../explain/lint.ts'
import { configAdmitsMore, roleAdmitsMore } from './changes.ts'
import { judge, keySources, type Tried } from './judge.ts'

export type WhatIfContext = WhatIfPlace & { readonly state: MountState; readonly failures: JwtFailures }

type Lint<Subject> = (subject: Subject, config: Config | undefined) => Promise<readonly Finding[]>

/** A role before and after; undefined: there is none. */
type RoleChange = {
  /** `cel/<name>` is a CEL role. */
  readonly name: string
  readonly before: Role | undefined
  readonly after: Role | undefined
  readonly lint: Lint<'before' | 'after'>
}

/** The report for those who log in with a role. docs/contract/what-if.md */
export async function roleWhatIf(
  { name, before, after, lint }: RoleChange,
  context: WhatIfContext,
): Promise<WhatIf> {
  const { mount, state, isSeen } = context
  const ready = await state.findConfig()
  const triedWith = (role: Role | undefined): Tried | undefined =>
    role && { role, ready, tokenType: mount.config.token_type, keyIds: undefined }
  const change = { before: triedWith(before), now: triedWith(after) }
  return tryAll(context, {
    role: name,
    changeOf: () => change,
    values: [before, after].flatMap((role) => (role === undefined ? [] : valuesNamedBy(role))),
    rest: isSeen(name)
      ? {
          admits_more: after === undefined ? [] : roleAdmitsMore(before, after),
          changes: after === undefined ? [] : tokenChanges(['user_claim'], before?.record, after.record),
          lint: {
            before: before === undefined ? [] : await lint('before', ready?.config),
            after: after === undefined ? [] : await lint('after', ready?.config),
          },
        }
      : nothingShown,
  })
}

/** The report of a configuration for everybody who logs in at the mount. */
export async function configWhatIf(
  config: Config,
  lint: Lint<Role>,
  context: WhatIfContext,
): Promise<WhatIf> {
  const { mount, state } = context
  const before = await state.findConfig()
  const isOtherwiseKeyed =
    before === undefined || JSON.stringify(keySources(before.config)) !== JSON.stringify(keySources(config))
  const ready = isOtherwiseKeyed ? state.readied(config) : { ...before, config }
  if (isOtherwiseKeyed) await ready.keyset.refresh()
  const tokenType = mount.config.token_type
  const keyIds = isOtherwiseKeyed ? keyIdsOf(ready) : undefined
  const roles = new Map<string, { before: Tried | undefined; now: Tried }>()
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
      lint: await changedFindings([...roles], { before: before?.config, config, lint }, context),
    },
  })
}

/** The findings about roles that may be seen, without those that stay. */
async function changedFindings(
  roles: readonly (readonly [name: string, change: { readonly now: Tried }])[],
  { before, config, lint }: { before: Config | undefined; config: Config; lint: Lint<Role> },
  { isSeen }: WhatIfContext,
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

const tryAll = (context: WhatIfContext, asked: AskedChange<Tried>): Promise<WhatIf> =>
  tryLogins<Tried>(context, asked, {
    judge,
    nobody,
    describe: (roleName, login, { tried, claims, verdict: { name: check, refused, index = 0 } }) => {
      const facts = {
        ready: tried?.ready,
        role: tried?.role,
        roleName,
        roleNames: [],
        remoteAddress: login.address,
        keyId: login.keyId,
        algorithm: login.algorithm,
        claims,
        nowMs: context.now,
        offset: undefined,
      }
      // the words of the refusal are those of the login's own check
      return describe(check as Parameters<typeof describe>[0], facts, { refused: refused as never }, index)
    },
    refusals: (by) => triedFailures(context, asked, by),
  })

type KeptFailure = NonNullable<ReturnType<JwtFailures['find']>>

/** A refused login as it is judged; undefined: nothing that could be judged is kept. */
function refusedLogin({ failure, kept }: KeptFailure, known: KnownValues): TriedLogin | undefined {
  const { path } = failure
  // a program would have to judge the claims themselves
  if (kept === undefined || (path !== 'login' && path !== 'oidc/callback')) return undefined
  const login = {
    path,
    asToken: failure.as_token,
    byDefault: false,
    address: failure.remote_address,
    algorithm: failure.alg,
    keyId: failure.kid,
    matched: {},
  } as const
  return { login, recalled: recalled(kept, known) }
}

/** Facts about a refused login that an operator sees of no other login. */
const seenOf = ({ trace }: KeptFailure): unknown[] => trace.checks.flatMap((check) => [check.seen].flat())

/** How a refused login would go with a role, and the configuration, as they are now. */
export async function judgedNow(
  failure: KeptFailure,
  role: Role,
  { mount, state, history }: Pick<WhatIfContext, 'mount' | 'state' | 'history'>,
): Promise<JudgedNow> {
  const known = new KnownValues(await history.hash())
  known.add([...valuesNamedBy(role), ...seenOf(failure)])
  const tried = refusedLogin(failure, known)
  if (tried === undefined) return notJudged
  const now = { role, ready: await state.findConfig(), tokenType: mount.config.token_type, keyIds: undefined }
  return judgedNowBy(judge(tried, now, nobody(now)))
}

/** With the role of nobody, to which nothing is the same as before. */
const nobody = ({ tokenType, ready }: Tried): Tried => ({
  role: readRole('', {}),
  ready,
  tokenType,
  keyIds: undefined,
})

function* triedFailures(
  { failures, mount, now, isSeen }: WhatIfContext,
  { role, changeOf }: AskedChange<Tried>,
  { twice, known }: Parameters<Judging<Tried>['refusals']>[0],
): TriedRefusals {
  const since = now - historyDays(mount) * 86_400_000
  for (const one of failures.kept()) {
    const { failure } = one
    const change = changeOf(failure.role)
    const isConcerned = role === undefined || failure.role === role
    if (change === undefined || !isConcerned || Date.parse(failure.time) < since) continue
    const tried = refusedLogin(one, known(seenOf(one)))
    if (tried === undefined) continue
    const requestId = isSeen(failure.role) ? failure.request_id : ''
    yield { requestId, ...twice(tried, change) }
  }
}
