import type { Thing } from '../simulators/directory/inventory.ts'
import { type ChaosWorld, dynamicRoles, sharedRoles } from './chaos-world.ts'

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
/** The current secret of the root application, and its successor. */
const maxRootPasswords = 2

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
    ...(await root(world)),
  ]
  const { data } = (await world.call({ method: 'GET', path: 'cloud/debris' })).body ?? {}
  const left = (data as { objects: object[] }).objects
  return [...problems, ...left.map((one) => `still debris: ${JSON.stringify(one)}`)]
}

async function read(world: ChaosWorld, held: readonly Held[]): Promise<Books> {
  const leases = new Map<string, Set<string>>()
  for (const role of roles) {
    const { body } = await world.call({
      method: 'GET',
      path: `sys/leases/lookup/cloud/creds/${role}?list=true`,
    })
    const { keys = [] } = (body?.data ?? {}) as { keys?: string[] }
    leases.set(role, new Set(keys.map((key) => `cloud/creds/${role}/${key}`)))
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
      const { status, body } = await world.call({ method: 'GET', path: `cloud/whois/${clientId}` })
      const { lease_id: lease } = (body?.data ?? {}) as { lease_id?: string }
      if (status === 200 && lease !== undefined) owners.set(clientId, lease)
      else problems.push(`application ${name} has no owner`)
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

async function root(world: ChaosWorld): Promise<string[]> {
  const { body } = await world.call({ method: 'GET', path: 'cloud/config/check' })
  const { checks = [] } = (body?.data ?? {}) as { checks?: { name: string; ok: boolean; detail: string }[] }
  const signIn = checks.find(({ name }) => name === 'sign_in')
  const own = world.directory
    .inventory()
    .filter(({ kind, clientId }) => kind === 'password' && clientId === world.directory.rootClientId)
  return [
    ...(signIn?.ok === true ? [] : [`the root does not sign in: ${signIn?.detail}`]),
    ...(own.length <= maxRootPasswords ? [] : [`the root has ${own.length} secrets that the engine made`]),
  ]
}
