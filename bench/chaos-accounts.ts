import type { Thing } from '../simulators/directory/inventory.ts'
import { type ChaosWorld, dynamicRoles, mountOf, mounts, sharedRoles } from './chaos-world.ts'

/**
 * A credential that a caller received, and the state its caller expects. `unsure`: the response to its
 * revocation was lost or was an error.
 */
export type Held = {
  readonly role: string
  readonly lease: string
  readonly clientId: string
  /** Undefined if it is a certificate. */
  readonly secret: string | undefined
  state: 'live' | 'unsure' | 'ended'
}

type Books = {
  readonly world: ChaosWorld
  readonly held: readonly Held[]
  /** Ids of the existing leases, by role. */
  readonly leases: ReadonlyMap<string, ReadonlySet<string>>
  /** Object ids of the applications that roles own, by role. */
  readonly managed: ReadonlyMap<string, string>
  readonly things: readonly Thing[]
}

const roles = [...dynamicRoles, ...sharedRoles]
/**
 * Lists the problems: objects without an owner, leases without their object, secrets that do not work, a root
 * application that cannot sign in.
 */
export async function accounts(world: ChaosWorld, held: readonly Held[]): Promise<string[]> {
  const books = await read(world, held)
  const problems = [
    ...claims(books),
    ...(await objects(books)),
    ...passwords(books),
    ...(await rotated(books)),
    ...(await trusts(books)),
    ...(await appRoles(books)),
    ...(await roots(books)),
  ]
  for (const mount of mounts) {
    const { data } = (await world.call({ method: 'GET', path: `${mount}/debris` })).body ?? {}
    const left = (data as { objects: object[] }).objects
    problems.push(...left.map((one) => `still debris of ${mount}: ${JSON.stringify(one)}`))
  }
  return problems
}

async function read(world: ChaosWorld, held: readonly Held[]): Promise<Books> {
  const leases = new Map<string, Set<string>>()
  for (const role of roles) {
    const { body } = await world.call({
      method: 'GET',
      path: `sys/leases/lookup/${mountOf(role)}/creds/${role}?list=true`,
    })
    const { keys = [] } = (body?.data ?? {}) as { keys?: string[] }
    leases.set(role, new Set(keys.map((key) => `${mountOf(role)}/creds/${role}/${key}`)))
  }
  const managed = new Map<string, string>()
  for (const role of ['persisted', 'passing']) {
    const { body } = await world.call({ method: 'GET', path: `cloud/roles/${role}` })
    const { application_object_id: id } = (body?.data ?? {}) as { application_object_id?: string }
    if (id !== undefined) managed.set(role, id)
  }
  const things = world.directory
    .inventory()
    .filter(({ deleted, kind }) => !deleted || kind === 'role-assignment')
  return { world, held, leases, managed, things }
}

/** Compares the responses to callers with the existing leases and objects. */
function claims({ held, leases, things }: Books): string[] {
  const secrets = new Set(things.flatMap(({ kind, secret }) => (kind === 'password' ? [secret] : [])))
  const certified = new Set(
    things.flatMap(({ kind, clientId }) => (kind === 'certificate' ? [clientId] : [])),
  )
  return held.flatMap((one) => {
    const hasLease = leases.get(one.role)?.has(one.lease) === true
    const works = one.secret === undefined ? certified.has(one.clientId) : secrets.has(one.secret)
    const is = `a credential of ${one.role} (${one.lease}) that is ${one.state}`
    if (one.state === 'live' && !hasLease) return [`${is} has no lease`]
    if (one.state === 'ended' && hasLease) return [`${is} still has its lease`]
    return hasLease === works
      ? []
      : [`${is} has ${hasLease ? 'a' : 'no'} lease, and its secret ${works ? 'works' : 'does not work'}`]
  })
}

/** Every object belongs to a role or to a lease, and each lease of a dedicated credential has its object. */
async function objects({ world, managed, leases, things }: Books): Promise<string[]> {
  const problems: string[] = []
  const owners = new Map<string, string>([
    [world.theirs.appId, 'theirs'],
    [world.directory.rootClientId, 'root'],
    [world.trusting.appId, 'trusting role'],
    ...[...world.rotated.values()].map(({ appId }) => [appId, 'static role'] as const),
  ])
  const managedIds = new Set(managed.values())
  for (const { kind, id, clientId, name } of things) {
    if (kind !== 'application' || clientId === null) continue
    if (managedIds.has(id)) owners.set(clientId, 'role')
    else {
      const lease = await leaseOf(clientId, world)
      if (lease === undefined) problems.push(`application ${name} has no owner`)
      else owners.set(clientId, lease)
    }
  }
  const owned = new Set(owners.values())
  for (const role of dynamicRoles) {
    for (const lease of leases.get(role) ?? [])
      if (!owned.has(lease)) problems.push(`lease ${lease} has no application`)
  }
  for (const { kind, id, clientId } of things) {
    if (kind !== 'application' && (clientId === null || !owners.has(clientId)))
      problems.push(`${kind} ${id} has no owner`)
  }
  return problems
}

async function leaseOf(clientId: string, world: ChaosWorld): Promise<string | undefined> {
  for (const mount of mounts) {
    const { status, body } = await world.call({ method: 'GET', path: `${mount}/whois/${clientId}` })
    const { lease_id: lease } = (body?.data ?? {}) as { lease_id?: string }
    if (status === 200 && lease !== undefined) return lease
  }
  return undefined
}

/** A shared application has as many passwords as its role has leases. */
function passwords({ world, leases, managed, things }: Books): string[] {
  const clientOfManaged = things.find(
    ({ kind, id }) => kind === 'application' && id === managed.get('persisted'),
  )?.clientId
  const shared: [string, string | null | undefined][] = [
    ['static', world.theirs.appId],
    ['persisted', clientOfManaged],
  ]
  return shared.flatMap(([role, clientId]) => {
    const there = things.filter((thing) => thing.kind === 'password' && thing.clientId === clientId).length
    const wanted = leases.get(role)?.size ?? 0
    return there === wanted ? [] : [`${role} has ${wanted} leases and ${there} passwords`]
  })
}

/** An application trusts a role as long as that exists. */
async function trusts({ world, things }: Books): Promise<string[]> {
  const { status } = await world.call({ method: 'GET', path: 'cloud/roles/trusting' })
  const there = things.filter(({ kind }) => kind === 'federated-credential').length
  const wanted = status === 200 ? 1 : 0
  return there === wanted ? [] : [`${there} trusts exist for ${wanted} federated roles`]
}

/** The password of each static role works, and its application has no password that the role does not know. */
async function rotated({ world, things }: Books): Promise<string[]> {
  const problems: string[] = []
  for (const [name, { appId }] of world.rotated) {
    const there = things.filter(({ kind, clientId }) => kind === 'password' && clientId === appId)
    const { status, body } = await world.call({ method: 'GET', path: `cloud/static-creds/${name}` })
    const { client_secret: secret, ...ids } = (body?.data ?? {}) as Record<string, string | undefined>
    if (status === 200 && !there.some((password) => password.secret === secret))
      problems.push(`the password of the static role ${name} does not work`)
    const known = [ids['secret_id'], ids['previous_secret_id']]
    for (const { id } of there)
      if (!known.includes(id)) problems.push(`the static role ${name} does not know the password ${id}`)
    if (status !== 200 && status !== 404) problems.push(`the static role ${name} cannot be read: ${status}`)
  }
  return problems
}

/** An application of a role has the app roles that the role lists, and each credential of `appointed` has both. */
async function appRoles({ world, things, leases, managed }: Books): Promise<string[]> {
  const problems: string[] = []
  const has = (clientId: string | null | undefined) =>
    things
      .filter((thing) => thing.kind === 'app-role-assignment' && thing.clientId === clientId)
      .map(({ name }) => name)
      .toSorted()
      .join(', ')
  for (const { kind, id, clientId } of things) {
    if (kind !== 'application' || clientId === null) continue
    const role = [...managed].find(([, objectId]) => objectId === id)?.[0]
    const lease = role === undefined ? await leaseOf(clientId, world) : undefined
    const isAppointed = lease !== undefined && leases.get('appointed')?.has(lease) === true
    const wanted = isAppointed ? 'Orders.Read, Orders.Write' : await listedAppRoles(role, world)
    if (has(clientId) !== wanted)
      problems.push(`${role ?? lease ?? id} has the app roles '${has(clientId)}' instead of '${wanted}'`)
  }
  return problems
}

async function listedAppRoles(role: string | undefined, world: ChaosWorld): Promise<string> {
  if (role === undefined) return ''
  const { body } = await world.call({ method: 'GET', path: `cloud/roles/${role}` })
  const { cloud_app_roles: listed } = (body?.data ?? {}) as { cloud_app_roles?: { role_name: string }[] }
  return (listed ?? [])
    .map(({ role_name }) => role_name)
    .toSorted()
    .join(', ')
}

/** Both mounts sign in, and the root application has one secret and one key: those in use. */
async function roots({ world, things }: Books): Promise<string[]> {
  const problems: string[] = []
  for (const mount of mounts) {
    const { body } = await world.call({ method: 'GET', path: `${mount}/config/check` })
    const { checks = [] } = (body?.data ?? {}) as { checks?: { name: string; ok: boolean; detail: string }[] }
    const signIn = checks.find(({ name }) => name === 'sign_in')
    if (signIn?.ok !== true) problems.push(`the root of ${mount} does not sign in: ${signIn?.detail}`)
  }
  const own = things.filter(({ clientId }) => clientId === world.directory.rootClientId)
  const secrets = own.filter(({ kind }) => kind === 'password')
  if (secrets.length !== 1) problems.push(`the root has ${secrets.length} secrets that the engine made`)
  const { body } = await world.call({ method: 'GET', path: 'keyed/config' })
  const { client_certificate_thumbprint: current } = (body?.data ?? {}) as Record<string, string>
  for (const { kind, id, thumbprint } of own)
    if (kind === 'certificate' && thumbprint !== current) problems.push(`nobody uses the root key ${id}`)
  if (!own.some(({ thumbprint }) => thumbprint === current))
    problems.push('the root key in use was not made by a rotation')
  return problems
}
