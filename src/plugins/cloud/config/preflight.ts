import { ServiceError } from '../../../errors.ts'
import { hintOf, holderName, rootPasswords } from '../root-rotation/root-passwords.ts'
import { callerError, UpstreamError } from '../upstream/index.ts'
import { directoryPermissions } from './directory-permissions.ts'
import type { Finding, PreflightContext } from './preflight-context.ts'
import { resourceManagerPermissions } from './resource-manager-permissions.ts'

type Check = Finding & { readonly name: string }
export type Preflight = { readonly ok: boolean; readonly checks: readonly Check[] }

const dayMs = 24 * 3600 * 1000
const leastSecretDays = 14
const maxOffsetMs = 60_000
const maxUsed = 0.9

/**
 * Checks everything that credentials depend on, without changing anything. A check that cannot be made is not
 * ok and says why. docs/contract/cloud.md#preflight
 */
export async function preflight(parts: Omit<PreflightContext, 'upstream'>): Promise<Preflight> {
  const { state, call } = parts
  const checks: Check[] = []
  const check = async (name: string, look: () => Promise<Finding>): Promise<boolean> => {
    const finding = await look().catch((error: unknown): Finding => {
      if (!(error instanceof UpstreamError) && !(error instanceof ServiceError)) throw error
      return {
        ok: false,
        detail: error instanceof UpstreamError ? callerError(error).message : error.message,
      }
    })
    checks.push({ name, ...finding })
    return finding.ok
  }
  const hasSettings = await check('settings', async () => {
    const { settings } = await state.upstream()
    return { ok: true, detail: `tenant ${settings.tenantId}, subscription ${settings.subscriptionId}` }
  })
  if (!hasSettings) return { ok: false, checks }
  const upstream = await state.upstream()
  const context = { ...parts, upstream }
  const isSignedIn = await check('sign_in', async () => {
    // a cached token would show the permissions and the secret of an hour ago
    await upstream.tokens.fresh('directory', call)
    return { ok: true, detail: `client ${upstream.settings.clientId}` }
  })
  if (isSignedIn) {
    await check('directory_permissions', () => directoryPermissions(context))
    await check('resource_manager_permissions', () => resourceManagerPermissions(context))
    await check('root_secret', () => rootSecret(context))
    await check('clock_offset', () => clockOffset(context))
    await check('object_quota', () => objectQuota(context))
  }
  return { ok: checks.every(({ ok }) => ok), checks }
}

async function rootSecret({ state, upstream, call, clock }: PreflightContext): Promise<Finding> {
  const config = await state.findConfig()
  const [own] = await upstream.directory.findApplications({ appId: upstream.settings.clientId }, call)
  if (own === undefined) return { ok: false, detail: 'the application of the root is not found' }
  const passwords = await rootPasswords(own, upstream, call)
  const byKey = passwords.filter(({ keyId }) => keyId === config?.client_secret_key_id)
  const hint = hintOf(upstream.settings.clientSecret)
  const candidates = byKey.length > 0 ? byKey : passwords.filter((password) => password.hint === hint)
  const ends = candidates
    .flatMap(({ endDateTime, principalId }) =>
      endDateTime === undefined ? [] : [{ end: Date.parse(endDateTime), holder: holderName(principalId) }],
    )
    .filter(({ end }) => !Number.isNaN(end))
  const [found, another] = ends
  if (found === undefined || another !== undefined)
    return { ok: true, detail: 'cannot tell which password of the root is in use' }
  const days = Math.floor((found.end - clock.now()) / dayMs)
  return {
    ok: days >= leastSecretDays,
    detail: `the password on the ${found.holder} ends ${new Date(found.end).toISOString()}, in ${days} days`,
  }
}

async function clockOffset({ upstream }: PreflightContext): Promise<Finding> {
  const offset = upstream.clockOffsetMs()
  if (offset === undefined) return { ok: true, detail: 'upstream sends no time' }
  const seconds = Math.round(offset / 1000)
  return {
    ok: Math.abs(offset) <= maxOffsetMs,
    detail: `upstream is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead'}`,
  }
}

async function objectQuota({ upstream, call }: PreflightContext): Promise<Finding> {
  const quota = await upstream.directory.organization(call)
  if (quota === undefined) return { ok: true, detail: 'the directory does not report it' }
  return {
    ok: quota.used <= quota.total * maxUsed,
    detail: `${quota.used} of ${quota.total} objects are used`,
  }
}
