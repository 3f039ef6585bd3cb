import { z } from 'zod'
import {
  approle,
  celRole,
  importRoles,
  jwtRole,
  podRole,
  tokenRole,
  userOf,
  withoutNull,
} from './auth-roles.ts'
import { importMount, type MountEntry, mountsAt } from './mounts.ts'
import { isMountPath, notAName } from './names.ts'
import { type Body, givenFields, RefusedRequest, type RemoteServer } from './remote-server.ts'
import { type Import, importOne, isLeftOut, likeness, noteOf, type Scope } from './scope.ts'

type Method = (scope: Scope, at: string, entry: MountEntry) => Promise<void>

const methods: Readonly<Record<string, Method>> = {
  jwt: importJwt,
  oidc: importJwt,
  kubernetes: importKubernetes,
  approle: (scope, at) => importRoles(scope, `${at}/role`, approle),
  userpass: (scope, at, entry) => importRoles(scope, `${at}/users`, userOf(scope, entry)),
  token: (scope, at) => importRoles(scope, `${at}/roles`, tokenRole),
}
export const isSupportedMethod = (type: string): boolean =>
  type === 'ns_token' || Object.hasOwn(methods, type)

/** Login methods of each namespace that need no mount. */
const builtIn: ReadonlySet<string> = new Set(['token', 'ns_token'])
const lockable: ReadonlySet<string> = new Set(['approle', 'userpass'])

export async function importAuthMounts(scope: Scope): Promise<void> {
  const { from, to, report, namespace } = scope
  const [theirs, ours] = await Promise.all([mountsAt(from, 'auth'), mountsAt(to, 'auth')])
  for (const [path, entry] of theirs) {
    const kind = 'auth_mount'
    if (isLeftOut(scope, `auth/${path}`)) continue
    if (!isMountPath(path)) {
      report.failed({ kind, namespace, path: `auth/${path}` }, notAName)
      continue
    }
    const type = entry.type === 'ns_token' ? 'token' : entry.type
    const method = Object.hasOwn(methods, type) ? methods[type] : undefined
    if (method === undefined) {
      report.failed({ kind, namespace, path: `auth/${path}` }, `type ${type} is not supported`)
      continue
    }
    const same = ours.get(path)
    const at = `auth/${path.replace(/\/$/, '')}`
    const { failed } = report.counts
    if (same !== undefined && !builtIn.has(type) && same.type !== type)
      report.failed({ kind, namespace, path: `auth/${path}` }, `the target has type ${same.type} here`)
    else if (!builtIn.has(type)) {
      const mount = { kind, path: `auth/${path}`, settings: `sys/${at}`, theirs: entry, ours: same } as const
      const isThere = await importMount(scope, mount)
      scope.methods.add(entry.accessor)
      if (isThere) await importLockout(scope, path, entry, same)
    }
    if (report.counts.failed === failed) await method(scope, at, entry)
  }
}

/** A mount is created without it. */
async function importLockout(
  scope: Scope,
  path: string,
  entry: MountEntry,
  same?: MountEntry,
): Promise<void> {
  const theirs = lockoutOf(entry)
  if (theirs === undefined || !lockable.has(entry.type)) return
  const tune = `sys/auth/${path}tune`
  await importConfig(scope, tune, {
    exists: async () => likeness(theirs, same && lockoutOf(same)),
    body: { user_lockout_config: lockoutRequest(theirs) },
  })
}

type ConfigImport = Pick<Import, 'exists'> & {
  readonly body: Body
  /** Why a part of it has to be written by hand. */
  readonly hidden?: string | undefined
}

function importConfig(scope: Scope, path: string, { exists, body, hidden }: ConfigImport): Promise<boolean> {
  const check = async () => {
    if (hidden !== undefined) throw new RefusedRequest(0, hidden)
  }
  const write = async () => {
    await check()
    return noteOf((await scope.to.write(path, body)).warnings)
  }
  return importOne(scope, { kind: 'auth_config', path, exists, check, write })
}

/** Undefined for a mount without settings of its own. */
const lockoutOf = ({ config }: MountEntry) => lockoutShape.safeParse(config?.['user_lockout_config']).data

/** As a mount shows it: numbers of seconds, 0 for what is as usual. */
const lockoutShape = z.object({
  user_lockout_threshold: z.number(),
  user_lockout_duration: z.number(),
  user_lockout_counter_reset_duration: z.number(),
  user_lockout_disable: z.boolean(),
})

const lockoutRequest = (shown: z.infer<typeof lockoutShape>): Body => ({
  lockout_threshold: String(shown.user_lockout_threshold),
  lockout_duration: shown.user_lockout_duration,
  lockout_counter_reset_duration: shown.user_lockout_counter_reset_duration,
  lockout_disable: shown.user_lockout_disable,
})

/** Where the keys come from: one of them is set once the mount is configured. */
const keySources = ['jwks_url', 'jwks_pairs', 'jwt_validation_pubkeys', 'oidc_discovery_url']
const isConfigured = (config: Body | undefined) =>
  config !== undefined && keySources.some((source) => source in givenFields(config))

async function importJwt(scope: Scope, at: string): Promise<void> {
  const { from, to } = scope
  const path = `${at}/config`
  const config = configOf(await from.read(path))
  if (config !== undefined && isConfigured(config))
    await importConfig(scope, path, {
      exists: async () => {
        const ours = configOf(await to.read(path)) ?? {}
        return isConfigured(ours) ? likeness(config, ours) : false
      },
      body: givenFields(config),
      hidden: hasSecret(config) ? secretTexts.client : undefined,
    })
  await importRoles(scope, `${at}/role`, jwtRole)
  await importRoles(scope, `${at}/cel/role`, celRole)
}

/** Without what a server says of its keys. */
const configOf = (shown: Body | undefined): Body | undefined => {
  if (shown === undefined) return undefined
  const { status: _, ...config } = shown
  return config
}

/** A client without one is a public client. */
const hasSecret = (config: Body) =>
  'oidc_client_id' in givenFields(config) && config['oidc_public_client'] !== true

const secretTexts = {
  client: 'a server never shows its oidc_client_secret: write it to the target',
  reviewer: 'a server never shows its token_reviewer_jwt: write it to the target',
}

/** A task for the operator: a configuration has a secret, which no server shows. Undefined: there is none. */
export async function configSecretOf(
  from: RemoteServer,
  at: string,
  { type }: MountEntry,
): Promise<string | undefined> {
  if (type !== 'jwt' && type !== 'oidc' && type !== 'kubernetes') return undefined
  const config = await from.read(`${at}/config`)
  if (config === undefined) return undefined
  if (type === 'kubernetes')
    return config['token_reviewer_jwt_set'] === true ? secretTexts.reviewer : undefined
  return hasSecret(config) ? secretTexts.client : undefined
}

async function importKubernetes(scope: Scope, at: string, entry: MountEntry): Promise<void> {
  const { from, to } = scope
  const path = `${at}/config`
  const shown = await from.read(path)
  if (shown !== undefined) {
    const { token_reviewer_jwt_set: hasReviewer, ...config } = shown
    await importConfig(scope, path, {
      exists: async () => likeness(config, await to.read(path)),
      body: withoutNull(config),
      hidden: hasReviewer === true ? secretTexts.reviewer : undefined,
    })
  }
  await importRoles(scope, `${at}/role`, podRole(reviewsRenewals(entry)))
}

/** Whether a server that is not Gatehouse asks the cluster again when it renews a token. */
function reviewsRenewals({ running_plugin_version: version }: MountEntry): boolean {
  const [, ...numbers] = /^v(\d+)\.(\d+)\.(\d+).*\+builtin\.bao$/.exec(String(version)) ?? []
  const [major = 0, minor = 0, patch = 0] = numbers.map(Number)
  if (major !== 2) return major > 2
  return minor > 7 || (minor === 7 && patch >= 1) || (minor === 6 && patch >= 4)
}
