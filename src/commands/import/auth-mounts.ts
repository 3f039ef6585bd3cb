import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { eachOf } from './each.ts'
import { importMount, type MountEntry, mountsAt } from './mounts.ts'
import { isMountPath, isName, notAName } from './names.ts'
import { type Body, givenFields, RefusedRequest, type RemoteServer } from './remote-server.ts'
import { importOne, likeness, listIfThere, noteOf, type Scope } from './scope.ts'

const atOnce = 8

type Method = (scope: Scope, at: string, entry: MountEntry) => Promise<void>

const methods: Readonly<Record<string, Method>> = {
  jwt: importJwt,
  oidc: importJwt,
  kubernetes: importKubernetes,
  approle: (scope, at) => importRoles(scope, `${at}/role`, approle),
  userpass: (scope, at) => importRoles(scope, `${at}/users`, user),
  token: (scope, at) => importRoles(scope, `${at}/roles`, tokenRole),
}
/** Login methods of each namespace that need no mount. */
const builtIn: ReadonlySet<string> = new Set(['token', 'ns_token'])
const lockable: ReadonlySet<string> = new Set(['approle', 'userpass'])

export async function importAuthMounts(scope: Scope): Promise<void> {
  const { from, to, report, namespace } = scope
  const [theirs, ours] = await Promise.all([mountsAt(from, 'auth'), mountsAt(to, 'auth')])
  for (const [path, entry] of theirs) {
    const kind = 'auth_mount'
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
  await importOne(scope, {
    kind: 'auth_config',
    path: tune,
    exists: async () => likeness(theirs, same && lockoutOf(same)),
    write: async () => {
      const { warnings } = await scope.to.write(tune, { user_lockout_config: lockoutRequest(theirs) })
      return noteOf(warnings)
    },
  })
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
  if (config !== undefined && isConfigured(config)) {
    const check = async () => {
      if (hasSecret(config))
        throw new RefusedRequest(0, 'a server never shows its oidc_client_secret: write it to the target')
    }
    await importOne(scope, {
      kind: 'auth_config',
      path,
      check,
      exists: async () => {
        const ours = configOf(await to.read(path)) ?? {}
        return isConfigured(ours) ? likeness(config, ours) : false
      },
      write: async () => {
        await check()
        return noteOf((await to.write(path, givenFields(config))).warnings)
      },
    })
  }
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

async function importKubernetes(scope: Scope, at: string, entry: MountEntry): Promise<void> {
  const { from, to } = scope
  const path = `${at}/config`
  const shown = await from.read(path)
  if (shown !== undefined) {
    const { token_reviewer_jwt_set: hasReviewer, ...config } = shown
    const check = async () => {
      if (hasReviewer === true)
        throw new RefusedRequest(0, 'a server never shows its token_reviewer_jwt: write it to the target')
    }
    await importOne(scope, {
      kind: 'auth_config',
      path,
      check,
      exists: async () => likeness(config, await to.read(path)),
      write: async () => {
        await check()
        return noteOf((await to.write(path, withoutNull(config))).warnings)
      },
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

type RoleKind = {
  /** Of what a server shows, the fields that a role is written with. */
  written(role: Body): Body
  shown?(server: RemoteServer, path: string): Promise<Body>
  first?(): Body
  /** Not every server has such roles. */
  readonly isExtra?: boolean
  /** What the operator should know about a new role. */
  notes?(role: Body): readonly string[]
}

async function importRoles(scope: Scope, at: string, roles: RoleKind): Promise<void> {
  const { from, to, report, namespace } = scope
  const kind = 'auth_role'
  const names = await (roles.isExtra === true ? listIfThere(from, at) : from.list(at))
  await eachOf(names, atOnce, async (name) => {
    const path = `${at}/${name}`
    if (!isName(name)) return report.failed({ kind, namespace, path }, notAName)
    const roleOn = async (server: RemoteServer): Promise<Body | undefined> => {
      const shown = await server.read(path)
      return shown && { ...roles.written(shown), ...(await roles.shown?.(server, path)) }
    }
    let theirs: Body | undefined
    const check = async () => {
      if (theirs === undefined) throw new RefusedRequest(404, 'the role is gone')
      return withoutNull(theirs)
    }
    const put = async (more: Body = {}) => (await to.write(path, { ...(await check()), ...more })).warnings
    await importOne(scope, {
      kind,
      path,
      check,
      exists: async () => {
        const ours = await roleOn(to)
        theirs = await roleOn(from)
        return likeness(theirs ?? {}, ours)
      },
      write: async () => {
        const warnings = await put(roles.first?.())
        return noteOf([...(roles.notes?.(theirs ?? {}) ?? []), ...warnings])
      },
      update: async () => noteOf(await put()),
    })
  })
}

const withoutNull = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))

const jwtRole: RoleKind = { written: ({ name: _, ...role }) => role }
const celRole: RoleKind = { ...jwtRole, isExtra: true }

/** Gatehouse shows the field itself. */
const podRole = (renewal_review: boolean): RoleKind => ({
  written: (role) => ({ renewal_review, ...role }),
  notes: (role) =>
    role['renewal_review'] === false ? ['renewals ask nobody, as on the source: set renewal_review'] : [],
})

/** A server shows two fields by their old names too. */
const tokenRole: RoleKind = {
  written: ({ name: _, period: __, explicit_max_ttl: ___, ...role }) => {
    const { token_strictly_bind_ip: isBound, ...others } = role
    // the target refuses the field, even with the value that changes nothing
    return isBound === true ? role : others
  },
}

const roleId = z.object({ role_id: z.string() })

const approle: RoleKind = {
  written: (role) => role,
  shown: async (server, path) => roleId.safeParse(await server.read(`${path}/role-id`)).data ?? {},
  notes: () => ['without its secret ids'],
}

/** Nobody knows the password: an operator sets one. */
const user: RoleKind = {
  written: (role) => role,
  first: () => ({ password: randomBytes(32).toString('base64url') }),
  notes: () => ['with a random password: set one'],
}
