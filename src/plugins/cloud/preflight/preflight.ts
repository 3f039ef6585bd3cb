import { ServiceError } from '../../../errors.ts'
import { excerpt, quoted } from '../../../lib/text/go-text.ts'
import type { ClientCertificate } from '../certificates/client-certificate.ts'
import { hostNotOffered, requires } from '../config/choose-credential.ts'
import { type OperatorSettings, suppliesCredential } from '../config/effective-settings.ts'
import type { MountState } from '../mount-state.ts'
import { lacksScope } from '../roles/role-record.ts'
import { hintOf, holderName, rootPasswords } from '../root-rotation/root-passwords.ts'
import { callerError, UpstreamError } from '../upstream/index.ts'
import { appRolesCheck } from './check-app-roles.ts'
import { trustsCheck } from './check-trusts.ts'
import { directoryPermissions } from './directory-permissions.ts'
import type { Finding, PreflightContext } from './preflight-context.ts'
import { resourceManagerPermissions } from './resource-manager-permissions.ts'
import { signInChecks, signInNow } from './sign-in-checks.ts'

type Check = Required<Finding> & { readonly name: string; readonly fix: string }
export type Preflight = { readonly ok: boolean; readonly checks: readonly Check[] }

const dayMs = 24 * 3600 * 1000
const leastSecretDays = 14
const maxOffsetMs = 60_000
const maxUsed = 0.9

const tokenFileFix = 'mount the token of the service account, and name it in AZURE_FEDERATED_TOKEN_FILE'

/** What repairs a failed check, unless the check itself knows better. */
const fixes: Readonly<Record<string, string>> = {
  settings: 'write the missing field to config',
  sign_in: 'read config/identity, which has the commands that set the sign-in up',
  directory_permissions:
    'grant the permission with admin consent: az ad app permission add, then az ad app permission admin-consent',
  resource_manager_permissions:
    'az role assignment create --role "User Access Administrator" at the scope that the detail names',
  root_secret: 'write the client_id of an application of this tenant to config',
  clock_offset: 'set the clock of this server',
  object_quota: 'purge deleted objects of the directory, or ask for a larger quota',
  issuer: "make the issuer's two documents public over https, and nothing else",
  signing_key: 'write identity_token_key of the mount, or change that key',
  role_scopes: 'write the roles again, with a scope for each entry',
  app_roles: 'grant the permission that the detail names, with admin consent',
  federated_credentials: 'grant the permission that the detail names, with admin consent',
  token_file: tokenFileFix,
  metadata: 'assign a managed identity to the machine; a change takes some minutes',
}

/**
 * Checks all that credentials depend on, changing nothing. A check that cannot be made is not ok.
 * docs/contract/cloud.md#preflight
 */
export async function preflight(parts: Omit<PreflightContext, 'signIn' | 'upstream'>): Promise<Preflight> {
  const { state } = parts
  const checks: Check[] = []
  const check = async (name: string, look: () => Promise<Finding>): Promise<boolean> => {
    const { ok, detail, fix = fixes[name] ?? '' } = await look().catch(failedFinding)
    checks.push({ name, ok, detail, fix: ok ? '' : fix })
    return ok
  }
  const hasSettings = await check('settings', () => settingsOf(state))
  if (!hasSettings) return { ok: false, checks }
  const upstream = await state.upstream()
  let signingIn: Promise<void> | undefined
  const signIn = () => (signingIn ??= signInNow({ ...parts, upstream }))
  const context = { ...parts, upstream, signIn }
  const unscoped = (await state.roles())
    .filter(({ role }) => lacksScope(role))
    .map(({ name }) => quoted(name))
  if (unscoped.length > 0)
    await check('role_scopes', async () => ({
      ok: false,
      detail: `roles with an entry without a scope: ${excerpt(unscoped.join(', '))}`,
    }))
  const { credential } = upstream.settings
  await check('auth_type', async () => ({ ok: true, detail: credential.type }))
  for (const [name, look] of signInChecks(context)) await check(name, look)
  const isSignedIn = await check('sign_in', async () => {
    await signIn()
    return { ok: true, detail: `client ${upstream.settings.clientId || 'of the machine'}` }
  })
  if (isSignedIn) {
    await check('directory_permissions', () => directoryPermissions(context))
    await check('resource_manager_permissions', () => resourceManagerPermissions(context))
    const roles = await state.roles()
    const appRoles = appRolesCheck(roles, context)
    if (appRoles !== undefined) await check('app_roles', appRoles)
    const trusts = trustsCheck(roles, context)
    if (trusts !== undefined) await check('federated_credentials', trusts)
    if (credential.type === 'root_creds')
      await check('root_secret', () => rootSecret(context, credential.secret))
    if (credential.type === 'certificate')
      await check('root_certificate', async () => certificateEnd(credential.certificate, context))
  }
  // a wrong clock may be why the sign-in was refused
  if (isSignedIn || isOff(upstream.clockOffsetMs())) await check('clock_offset', () => clockOffset(context))
  if (isSignedIn) await check('object_quota', () => objectQuota(context))
  return { ok: checks.every(({ ok }) => ok), checks }
}

function failedFinding(error: unknown): Finding {
  if (error instanceof ServiceError) return { ok: false, detail: error.message }
  if (!(error instanceof UpstreamError)) throw error
  return { ok: false, detail: callerError(error).message, fix: error.remedy?.fix }
}

async function settingsOf(state: MountState): Promise<Finding> {
  try {
    const { settings } = await state.upstream()
    return { ok: true, detail: `tenant ${settings.tenantId}, subscription ${settings.subscriptionId}` }
  } catch (error) {
    const found = failedFinding(error)
    return { ...found, fix: settingFixes[found.detail] }
  }
}

/** What repairs settings that no field is missing from. */
const settingFixes: Readonly<Record<string, string>> = {
  [hostNotOffered]: 'name the mount in CLOUD_HOST_IDENTITY, or write another auth_type to config',
  [requires('aks_wif', 'AZURE_FEDERATED_TOKEN_FILE')]: tokenFileFix,
}

const dayOf = (moment: string | number): string => new Date(moment).toISOString().slice(0, 10)

function certificateEnd(
  { expiration }: ClientCertificate,
  { clock, state: { operator } }: PreflightContext,
): Finding {
  const days = Math.floor((Date.parse(expiration) - clock.now()) / dayMs)
  return {
    ok: days >= leastSecretDays,
    detail: `the certificate ends on ${dayOf(expiration)}, in ${days} days`,
    fix: renewal(operator, operator.certificate && 'the file that CLOUD_CLIENT_CERTIFICATE_PATH names'),
  }
}

/** What renews the root credential: the operator, if the process supplies it. */
function renewal(operator: OperatorSettings, supplied: string | undefined): string {
  if (supplied !== undefined) return `replace ${supplied}, and restart the server`
  return suppliesCredential(operator) ? 'write another one to config' : 'write rotate-root'
}

async function rootSecret(
  { state, upstream, call, clock }: PreflightContext,
  secret: string,
): Promise<Finding> {
  const config = await state.findConfig()
  const [own] = await upstream.directory.findApplications({ appId: upstream.settings.clientId }, call)
  if (own === undefined) return { ok: false, detail: 'the application of the root is not found' }
  const passwords = await rootPasswords(own, upstream, call)
  const byKey = passwords.filter(({ keyId }) => keyId === config?.client_secret_key_id)
  const hint = hintOf(secret)
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
    detail: `the password on the ${found.holder} ends on ${dayOf(found.end)}, in ${days} days`,
    fix: renewal(state.operator, state.operator.clientSecret && 'CLOUD_CLIENT_SECRET'),
  }
}

const isOff = (offsetMs: number | undefined): boolean => Math.abs(offsetMs ?? 0) > maxOffsetMs

async function clockOffset({ upstream }: PreflightContext): Promise<Finding> {
  const offset = upstream.clockOffsetMs()
  if (offset === undefined) return { ok: true, detail: 'upstream sends no time' }
  const seconds = Math.round(offset / 1000)
  return {
    ok: !isOff(offset),
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
