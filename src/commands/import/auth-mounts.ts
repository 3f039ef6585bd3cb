import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { type MountEntry, mountRequest, mountsAt } from './mounts.ts'
import { type Body, givenFields, RefusedRequest } from './remote-server.ts'
import { importOne, noteOf, type Scope } from './scope.ts'

type Method = (scope: Scope, at: string) => Promise<void>

const methods: Readonly<Record<string, Method>> = {
  jwt: importJwt,
  oidc: importJwt,
  approle: (scope, at) => importRoles(scope, `${at}/role`, roleOfApprole),
  userpass: (scope, at) => importRoles(scope, `${at}/users`, user),
  token: (scope, at) => importRoles(scope, `${at}/roles`, asItIs),
}
/** Login methods of each namespace that need no mount. */
const builtIn: ReadonlySet<string> = new Set(['token', 'ns_token'])
const lockable: ReadonlySet<string> = new Set(['approle', 'userpass'])

/** Imports login methods with their configuration and roles. */
export async function importAuthMounts(scope: Scope): Promise<void> {
  const { from, to, report, namespace } = scope
  const [theirs, ours] = await Promise.all([mountsAt(from, 'auth'), mountsAt(to, 'auth')])
  for (const [path, entry] of theirs) {
    const kind = 'auth_mount'
    const type = entry.type === 'ns_token' ? 'token' : entry.type
    const method = Object.hasOwn(methods, type) ? methods[type] : undefined
    if (method === undefined) {
      report.failed({ kind, namespace, path: `auth/${path}` }, `type ${type} is not supported`)
      continue
    }
    const same = ours.get(path)
    const failed = report.counts.failed
    if (same !== undefined && !builtIn.has(type) && same.type !== type)
      report.failed({ kind, namespace, path: `auth/${path}` }, `the target has type ${same.type} here`)
    else if (!builtIn.has(type)) {
      await importOne(scope, {
        ...{ kind, path: `auth/${path}` },
        exists: async () => same !== undefined,
        write: () => createMount(scope, path, entry),
      })
      scope.methods.add(entry.accessor)
      if (report.counts.failed === failed) await importLockout(scope, path, entry, same)
    }
    if (report.counts.failed === failed) await method(scope, `auth/${path.replace(/\/$/, '')}`)
  }
}

async function createMount({ to }: Scope, path: string, entry: MountEntry): Promise<string | undefined> {
  const { warnings } = await to.write(`sys/auth/${path.replace(/\/$/, '')}`, mountRequest(entry))
  return noteOf(warnings)
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
    ...{ kind: 'auth_config', path: tune },
    exists: async () => same !== undefined && lockoutOf(same) !== undefined,
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

/** The fields of a request have other names. */
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
  const { from, to, report, namespace } = scope
  const path = `${at}/config`
  const config = await from.read(path)
  if (config !== undefined && isConfigured(config)) {
    const { imported } = report.counts
    await importOne(scope, {
      ...{ kind: 'auth_config', path },
      exists: async () => isConfigured(await to.read(path)),
      write: async () => noteOf((await to.write(path, givenFields(config))).warnings),
    })
    if (report.counts.imported > imported && 'oidc_client_id' in givenFields(config))
      report.failed(
        { kind: 'auth_config', namespace, path: `${path} oidc_client_secret` },
        'a server never shows it: write it to the target',
      )
  }
  await importRoles(scope, `${at}/role`, asItIs)
}

/** What is written to the target, and what the operator should know. */
type Written = { readonly body: Body; readonly note?: string }
type RoleOf = (role: Body, path: string, scope: Scope) => Promise<Written>

async function importRoles(scope: Scope, at: string, written: RoleOf): Promise<void> {
  const { from, to } = scope
  for (const name of await from.list(at)) {
    const path = `${at}/${name}`
    await importOne(scope, {
      ...{ kind: 'auth_role', path },
      exists: async () => (await to.read(path)) !== undefined,
      write: async () => {
        const role = await from.read(path)
        if (role === undefined) throw new RefusedRequest(404, 'the role is gone')
        const { body, note } = await written(withoutNull(role), path, scope)
        const { warnings } = await to.write(path, body)
        return noteOf(note === undefined ? warnings : [note, ...warnings])
      },
    })
  }
}

const withoutNull = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))

const asItIs: RoleOf = async ({ name: _, ...body }) => ({ body })

const roleId = z.object({ role_id: z.string() })

async function roleOfApprole(role: Body, path: string, { from }: Scope): Promise<Written> {
  const { data } = roleId.safeParse(await from.read(`${path}/role-id`))
  return { body: { ...role, ...data }, note: 'without its secret ids' }
}

/** Nobody knows the password: an operator sets one. */
const user: RoleOf = async (role) => ({
  body: { ...role, password: randomBytes(32).toString('base64url') },
  note: 'with a random password: set one',
})
