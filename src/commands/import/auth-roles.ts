import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { eachOf } from './each.ts'
import type { MountEntry } from './mounts.ts'
import { isName, notAName } from './names.ts'
import { type Body, RefusedRequest, type RemoteServer } from './remote-server.ts'
import { importOne, likeness, listIfThere, noteOf, type Scope } from './scope.ts'

const atOnce = 8

type RoleKind = {
  /** Of what a server shows, the fields that a role is written with. */
  written(role: Body): Body
  shown?(server: RemoteServer, path: string): Promise<Body>
  first?(name: string, path: string): Promise<Body>
  /** For a role that the target had before an update. */
  next?(name: string, path: string): Promise<unknown>
  /** Not every server has such roles. */
  readonly isExtra?: boolean
  /** A hint for the operator about a new role. */
  notes?(role: Body): readonly string[]
}

export async function importRoles(scope: Scope, at: string, roles: RoleKind): Promise<void> {
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
    let isNew = false
    const check = async () => {
      if (theirs === undefined) throw new RefusedRequest(404, 'the role is gone')
      return withoutNull(theirs)
    }
    const put = async (more: Body = {}) => (await to.write(path, { ...(await check()), ...more })).warnings
    await importOne(scope, {
      kind,
      path,
      check: async () => {
        await check()
        if (isNew) await roles.first?.(name, path)
      },
      exists: async () => {
        const ours = await roleOn(to)
        theirs = await roleOn(from)
        isNew = ours === undefined
        return likeness(theirs ?? {}, ours)
      },
      write: async () => {
        const warnings = await put(await roles.first?.(name, path))
        return noteOf([...(roles.notes?.(theirs ?? {}) ?? []), ...warnings])
      },
      update: async () => noteOf(await put()),
    })
    if (!isNew && scope.isUpdate) await roles.next?.(name, path)
  })
}

export const withoutNull = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))

export const jwtRole: RoleKind = { written: ({ name: _, ...role }) => role }
export const celRole: RoleKind = { ...jwtRole, isExtra: true }

/** Gatehouse shows the field itself. */
export const podRole = (renewal_review: boolean): RoleKind => ({
  written: (role) => ({ renewal_review, ...role }),
  notes: (role) =>
    role['renewal_review'] === false ? ['renewals ask nobody, as on the source: set renewal_review'] : [],
})

/** A server shows two fields by their old names too. */
export const tokenRole: RoleKind = {
  written: ({ name: _, period: __, explicit_max_ttl: ___, ...role }) => {
    const { token_strictly_bind_ip: isBound, ...others } = role
    // the target refuses the field, even with the value that changes nothing
    return isBound === true ? role : others
  },
}

const roleId = z.object({ role_id: z.string() })

export const approle: RoleKind = {
  written: (role) => role,
  shown: async (server, path) => roleId.safeParse(await server.read(`${path}/role-id`)).data ?? {},
  notes: () => ['without its secret ids'],
}

/** Without `--passwords`, nobody knows the password: an operator sets one. */
export function userOf(scope: Scope, entry: MountEntry): RoleKind {
  const { to, namespace, passwords } = scope
  const mount = String(entry['uuid'])
  const written = (role: Body) => role
  if (passwords === undefined)
    return {
      written,
      first: async () => ({ password: randomBytes(32).toString('base64url') }),
      notes: () => ['with a random password: set one'],
    }
  return {
    written,
    first: async (name, user) => {
      const hash = await passwords.hashOf(scope, mount, name)
      if (!scope.isDryRun) passwords.wrote(`${namespace}${user}/password`, hash)
      return { password_hash: hash }
    },
    notes: () => ['with the password of the source'],
    next: async (name, user) => {
      const path = `${user}/password`
      let hash = ''
      await importOne(scope, {
        kind: 'password',
        path,
        exists: async () => {
          hash = await passwords.hashOf(scope, mount, name)
          return passwords.isWritten(namespace + path, hash) ? true : 'no server shows it'
        },
        write: async () => {
          const { warnings } = await to.write(path, { password_hash: hash })
          passwords.wrote(namespace + path, hash)
          return noteOf(warnings)
        },
      })
    },
  }
}
