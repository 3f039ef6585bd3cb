import { ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ConfigRecord } from './config-record.ts'
import type { MountState, ReadyUpstream } from './mount-state.ts'
import type { RoleRecord } from './role-record.ts'
import { suppliesCredential } from './settings.ts'
import { type GrantedActions, UpstreamError, type UpstreamCall } from './upstream/index.ts'

/** One thing that was looked at; `detail` says what was seen. */
export type Check = { readonly name: string; readonly ok: boolean; readonly detail: string }
export type Preflight = { readonly ok: boolean; readonly checks: readonly Check[] }

type Seen = { readonly ok: boolean; readonly detail: string }
type Surroundings = { readonly state: MountState; readonly upstream: ReadyUpstream; readonly call: UpstreamCall; readonly clock: Clock }

const dayMs = 24 * 3600 * 1000
const leastSecretDays = 14
const mostOffsetMs = 60_000
const mostUsed = 0.9

/** Looks at all that credentials stand on; what cannot be looked at is not ok, and says why. Nothing is changed. Issue "Preflight". */
export async function preflight(parts: Omit<Surroundings, 'upstream'>): Promise<Preflight> {
  const { state, call } = parts
  const checks: Check[] = []
  const check = async (name: string, look: () => Promise<Seen>): Promise<boolean> => {
    const seen = await look().catch((error: unknown): Seen => {
      if (!(error instanceof UpstreamError) && !(error instanceof ServiceError)) throw error
      return { ok: false, detail: error.message }
    })
    checks.push({ name, ...seen })
    return seen.ok
  }
  const settled = await check('settings', async () => {
    const { settings } = await state.upstream()
    return { ok: true, detail: `tenant ${settings.tenantId}, subscription ${settings.subscriptionId}` }
  })
  if (!settled) return { ok: false, checks }
  const upstream = await state.upstream()
  const around = { ...parts, upstream }
  const signedIn = await check('sign_in', async () => {
    // a kept token would tell of the permissions, and the secret, of an hour ago
    await upstream.tokens.fresh('directory', call)
    return { ok: true, detail: `client ${upstream.settings.clientId}` }
  })
  if (signedIn) {
    await check('directory_permissions', () => directoryPermissions(around))
    await check('resource_manager_permissions', async () => actionsSeen(await upstream.resourceManager.permissions(call)))
    await check('root_secret', () => rootSecret(around))
    await check('clock_offset', () => clockOffset(around))
    await check('object_quota', () => objectQuota(around))
  }
  return { ok: checks.every(({ ok }) => ok), checks }
}

async function directoryPermissions({ state, upstream, call }: Surroundings): Promise<Seen> {
  const { roles } = await upstream.tokens.claims('directory', call)
  const config = await state.findConfig()
  const all = await Promise.all((await state.roleNames()).map((name) => state.findRole(name)))
  return permissionsSeen(
    roles,
    needs(
      config,
      all.flatMap((role) => role ?? []),
      suppliesCredential(state.operator),
    ),
  )
}

/** What the roles of a mount, and the rotation of its secret, ask for. Any one of each row suffices. Pure. */
function needs(config: ConfigRecord | undefined, roles: readonly RoleRecord[], isSupplied: boolean): { anyOf: string[]; why: string }[] {
  const own = 'Application.ReadWrite.OwnedBy'
  const every = 'Application.ReadWrite.All'
  const wanted = [{ anyOf: [every, own], why: 'service principals' }]
  if (roles.some((role) => role.application_object_id !== '' && !role.persist_app))
    wanted.push({ anyOf: [every], why: 'passwords of applications that roles name' })
  if (roles.some(({ groups }) => (groups ?? []).length > 0)) {
    wanted.push({ anyOf: ['GroupMember.ReadWrite.All', 'Group.ReadWrite.All', 'Directory.ReadWrite.All'], why: 'group memberships' })
  }
  if (config !== undefined && config.client_secret !== '' && !isSupplied) wanted.push({ anyOf: [every], why: 'rotate-root' })
  return wanted
}

/** Pure. */
export function permissionsSeen(granted: readonly string[], wanted: readonly { readonly anyOf: readonly string[]; readonly why: string }[]): Seen {
  const lacking = wanted.filter(({ anyOf }) => !anyOf.some((name) => granted.includes(name)))
  const has = `has ${granted.length === 0 ? 'none' : granted.toSorted().join(', ')}`
  return { ok: lacking.length === 0, detail: [has, ...lacking.map(({ anyOf, why }) => `lacks ${anyOf.join(' or ')} (for ${why})`)].join('; ') }
}

const neededActions = [
  'Microsoft.Authorization/roleDefinitions/read',
  'Microsoft.Authorization/roleAssignments/write',
  'Microsoft.Authorization/roleAssignments/delete',
]

/** What the root may do in its subscription; roles at other scopes need the same there. Pure. */
export function actionsSeen(granted: readonly GrantedActions[]): Seen {
  const lacking = neededActions.filter(
    (action) => !granted.some(({ actions, notActions }) => actions.some(covers(action)) && !notActions.some(covers(action))),
  )
  return {
    ok: lacking.length === 0,
    detail: lacking.length === 0 ? `has ${neededActions.join(', ')}` : `lacks ${lacking.join(', ')} in the subscription`,
  }
}

/** A pattern of Resource Manager: `*` stands for anything, case does not count. Linear: the parts between stars are looked for one after the other. */
const covers =
  (action: string) =>
  (pattern: string): boolean => {
    const [text, parts] = [action.toLowerCase(), pattern.toLowerCase().split('*')]
    const [head = '', ...rest] = parts
    const tail = rest.pop()
    if (tail === undefined) return text === head
    if (!text.startsWith(head)) return false
    let at = head.length
    for (const part of rest) {
      const found = text.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return text.length - tail.length >= at && text.endsWith(tail)
  }

async function rootSecret({ state, upstream, call, clock }: Surroundings): Promise<Seen> {
  const config = await state.findConfig()
  const [own] = await upstream.directory.findApplications({ appId: upstream.settings.clientId }, call)
  if (own === undefined) return { ok: false, detail: 'the application of the root is not found' }
  const { clientSecret } = upstream.settings
  const byKey = own.passwordCredentials.filter(({ keyId }) => keyId === config?.client_secret_key_id)
  const candidates = byKey.length > 0 ? byKey : own.passwordCredentials.filter(({ hint }) => hint === clientSecret.slice(0, 3))
  const ends = candidates
    .flatMap(({ endDateTime }) => (endDateTime === undefined ? [] : [Date.parse(endDateTime)]))
    .filter((end) => !Number.isNaN(end))
  if (ends.length !== 1) return { ok: true, detail: 'which of the passwords of the root is in use cannot be told' }
  const [end = 0] = ends
  const days = Math.floor((end - clock.now()) / dayMs)
  return { ok: days >= leastSecretDays, detail: `ends ${new Date(end).toISOString()}, in ${days} days` }
}

async function clockOffset({ upstream }: Surroundings): Promise<Seen> {
  const offset = upstream.clockOffsetMs()
  if (offset === undefined) return { ok: true, detail: 'upstream does not tell the time' }
  const seconds = Math.round(offset / 1000)
  return { ok: Math.abs(offset) <= mostOffsetMs, detail: `upstream is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead'}` }
}

async function objectQuota({ upstream, call }: Surroundings): Promise<Seen> {
  const quota = await upstream.directory.organization(call)
  if (quota === undefined) return { ok: true, detail: 'the directory does not tell' }
  return { ok: quota.used <= quota.total * mostUsed, detail: `${quota.used} of ${quota.total} objects are used` }
}
