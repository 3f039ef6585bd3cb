import { configSecretOf, isSupportedMethod } from './auth-mounts.ts'
import { insteadOfEngine, insteadOfMethod } from './instead.ts'
import { isBuiltInEngine, isEngineInUse, isKv, keysBelow, versionOf } from './kv.ts'
import { messageCount } from './messages.ts'
import { type MountEntry, mountsAt } from './mounts.ts'
import { isMountPath, isName } from './names.ts'
import { childrenOf } from './namespaces.ts'
import { leftOutOf } from './never-carried.ts'
import { builtInPolicies } from './policies.ts'
import { ifRefused, RefusedRequest, type RemoteServer } from './remote-server.ts'
import type { Item } from './report.ts'
import { listIfThere } from './scope.ts'

/** An item that comes over: one mount, or all objects of a kind. */
type Coming = Item & { readonly type?: string; readonly counts: Readonly<Record<string, number>> }
/** An item that does not come over, with a task for the operator. */
type Staying = Item & { readonly type?: string; readonly count?: number; readonly todo: string }
type Unread = Item & { readonly reason: string }

/** The findings of an import on a source. docs/import.md#plan */
export type Plan = {
  readonly comes: readonly Coming[]
  readonly stays: readonly Staying[]
  /** The token may not read these, so nothing is known about them. */
  readonly unread: readonly Unread[]
}

export async function planOf(source: RemoteServer): Promise<Plan> {
  const planning = new Planning()
  const namespaces = ['']
  for (let at = namespaces.shift(); at !== undefined; at = namespaces.shift()) {
    const from = source.in(at)
    await planning.plan(from, at)
    for (const name of await childrenOf(from).catch(ifRefused<readonly string[]>([])))
      if (isName(name.replace(/\/$/, ''))) namespaces.push(`${at}${name.replace(/\/$/, '')}/`)
  }
  return planning
}

class Planning implements Plan {
  readonly comes: Coming[] = []
  readonly stays: Staying[] = []
  readonly unread: Unread[] = []

  async plan(from: RemoteServer, namespace: string): Promise<void> {
    if (namespace !== '') this.comes.push({ kind: 'namespace', namespace, path: '', counts: {} })
    for (const [path, read] of [
      ['sys/auth', () => this.#methods(from, namespace)],
      ['sys/mounts', () => this.#engines(from, namespace)],
      ['identity', () => this.#identity(from, namespace)],
      ['sys/policies', () => this.#policies(from, namespace)],
      ['sys/config/ui/custom-messages', () => this.#messages(from, namespace)],
    ] as const)
      await this.#reading({ kind: 'section', namespace, path }, read)
    for (const { kind, instead, found, count, refused } of await leftOutOf(from, namespace)) {
      if (refused !== undefined) this.unread.push({ kind, namespace, path: '', reason: refused })
      for (const path of found)
        await this.#reading({ kind, namespace, path }, async () => {
          const counted = await count?.(path)
          const known = counted === undefined ? {} : { count: counted }
          this.stays.push({ kind, namespace, path, ...known, todo: instead })
        })
    }
  }

  /** A refusal is noted, and the plan goes on. */
  async #reading(item: Item, read: () => Promise<void>): Promise<void> {
    try {
      await read()
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error
      this.unread.push({ ...item, reason: error.message })
    }
  }

  async #methods(from: RemoteServer, namespace: string): Promise<void> {
    for (const [path, entry] of await mountsAt(from, 'auth')) {
      const { type } = entry
      const item = { kind: 'auth_mount', namespace, path: `auth/${path}`, type }
      if (!isSupportedMethod(type)) this.stays.push({ ...item, todo: insteadOfMethod(type) })
      else await this.#reading(item, () => this.#method(from, item, entry))
    }
  }

  async #method(from: RemoteServer, item: Item & { type: string }, entry: MountEntry): Promise<void> {
    const roles = rolesOf(item.type)
    const count = (await from.list(item.path + roles)).length
    // each namespace has this one
    if (count === 0 && roles === 'roles') return
    this.comes.push({ ...item, counts: { [roles]: count } })
    const { namespace, path, type } = item
    const todo = await configSecretOf(from, path.replace(/\/$/, ''), entry)
    if (todo !== undefined)
      this.stays.push({ kind: 'auth_config', namespace, path: `${path}config`, type, todo })
  }

  async #engines(from: RemoteServer, namespace: string): Promise<void> {
    for (const [path, entry] of await mountsAt(from, 'mounts')) {
      const { type } = entry
      const item = { kind: 'secrets_mount', namespace, path, type }
      if (isBuiltInEngine(type) || !isMountPath(path)) continue
      if (isKv(type)) await this.#reading(item, () => this.#kv(from, namespace, path, versionOf(entry)))
      else if (await isEngineInUse(from, path, type))
        this.stays.push({ ...item, todo: insteadOfEngine(type) })
    }
  }

  async #kv(from: RemoteServer, namespace: string, path: string, version: 1 | 2): Promise<void> {
    let secrets = 0
    for await (const _ of keysBelow(from, version === 1 ? path : `${path}metadata/`)) secrets += 1
    const type = `kv version ${version}`
    this.comes.push({ kind: 'secrets_mount', namespace, path, type, counts: { secrets } })
  }

  async #identity(from: RemoteServer, namespace: string): Promise<void> {
    for (const [kind, plural] of [
      ['entity', 'entities'],
      ['group', 'groups'],
    ] as const) {
      const path = `identity/${kind}`
      const count = (await from.list(`${path}/id`)).length
      if (count > 0) this.comes.push({ kind, namespace, path, counts: { [plural]: count } })
    }
  }

  async #policies(from: RemoteServer, namespace: string): Promise<void> {
    const acl = (await from.list('sys/policies/acl')).filter((name) => !builtInPolicies.has(name))
    const password = await listIfThere(from, 'sys/policies/password')
    const counts = {
      policies: acl.length,
      ...(password.length > 0 && { 'password policies': password.length }),
    }
    this.comes.push({ kind: 'policy', namespace, path: 'sys/policies', counts })
    for (const kind of ['rgp', 'egp'])
      for (const name of await listIfThere(from, `sys/policies/${kind}`))
        this.stays.push({
          kind: 'policy',
          namespace,
          path: `sys/policies/${kind}/${name}`,
          todo: 'Gatehouse has no Sentinel: write an ACL policy, or bind the claim in a role',
        })
  }

  async #messages(from: RemoteServer, namespace: string): Promise<void> {
    const messages = await messageCount(from)
    const path = 'sys/config/ui/custom-messages'
    if (messages > 0) this.comes.push({ kind: 'message', namespace, path, counts: { messages } })
  }
}

/** Where a login method has its roles. */
const rolesOf = (type: string): string =>
  type === 'userpass' ? 'users' : type === 'token' || type === 'ns_token' ? 'roles' : 'role'
