import { setTimeout as wait } from 'node:timers/promises'
import type { Answer } from '../simulators/operator.ts'
import { accounts, type Held } from './chaos-accounts.ts'
import {
  type ChaosWorld,
  calm,
  dynamicRoles,
  mountOf,
  mounts,
  NoAnswer,
  ordersRoles,
  readerAt,
  sharedRoles,
  startChaosWorld,
  staticRoles,
  staticTerms,
  unrest,
} from './chaos-world.ts'

export type ChaosOptions = {
  readonly operations: number
  readonly seed: number
  readonly folder: string
  /** The server; default: from the sources. */
  readonly entry?: string
  readonly say?: (line: string) => void
}

/** `problems` is empty if the final state is correct. */
export type ChaosResult = { readonly problems: string[]; readonly counts: Readonly<Record<string, number>> }

const workers = 8
const settleLimitMs = 120_000
const pollMs = 200

/**
 * Creates, renews and revokes credentials, changes roles, and rotates static roles and the root secret, while the
 * server is killed and the cloud is slow, inconsistent and faulty. Then waits for all work to finish and compares the
 * objects upstream with the leases.
 */
export async function runChaos({
  operations,
  seed,
  folder,
  entry,
  say = () => {},
}: ChaosOptions): Promise<ChaosResult> {
  await using world = await startChaosWorld(folder, entry)
  world.directory.change(unrest(seed))
  const run = new Run(world, seed)
  const killEvery = Math.max(25, Math.floor(operations / 25))
  let begun = 0
  const work = async () => {
    while (begun < operations) {
      begun += 1
      if (begun % killEvery === 0) {
        await world.kill()
        run.count('kills')
        say(`${begun} operations, ${JSON.stringify(run.counts)}`)
      } else await run.operation()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  world.directory.change(calm)
  await settle(world, run.held)
  const problems = await accounts(world, run.held)
  return { problems, counts: run.counts }
}

/** The results of the operations so far, and the choice of the next one. */
class Run {
  readonly held: Held[] = []
  readonly counts: Record<string, number> = {}
  readonly #world: ChaosWorld
  readonly #random: () => number

  constructor(world: ChaosWorld, seed: number) {
    this.#world = world
    this.#random = randomOf(seed)
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  async operation(): Promise<void> {
    const dice = this.#random()
    if (dice < 0.4) await this.#create()
    else if (dice < 0.5) await this.#renew()
    else if (dice < 0.8) await this.#revoke()
    else if (dice < 0.9) await this.#useStaticRole()
    else if (dice < 0.97) await this.#changeRole()
    else await this.#rotate()
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random() * items.length)]
  }

  async #ask(what: string, method: string, path: string, body?: object): Promise<Answer | undefined> {
    try {
      const answer = await this.#world.call({ method, path, ...(body === undefined ? {} : { body }) })
      this.count(answer.status < 300 ? what : `${what}_failed`)
      return answer
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      this.count(`${what}_unanswered`)
      return undefined
    }
  }

  async #create(): Promise<void> {
    const role = this.#pick([...dynamicRoles, ...dynamicRoles, ...sharedRoles]) ?? 'plain'
    const query = this.#random() < 0.2 ? '?wait=ready&wait_limit=5' : ''
    const answer = await this.#ask('created', 'GET', `${mountOf(role)}/creds/${role}${query}`)
    const { lease_id: lease, data } = answer?.body ?? {}
    if (answer?.status !== 200 || typeof data !== 'object' || data === null || !('client_id' in data)) return
    this.held.push({
      role,
      lease: String(lease),
      clientId: String(data.client_id),
      secret: 'client_secret' in data ? String(data.client_secret) : undefined,
      state: 'live',
    })
  }

  async #renew(): Promise<void> {
    const one = this.#pick(this.held.filter(({ state }) => state === 'live'))
    if (one !== undefined) await this.#ask('renewed', 'PUT', 'sys/leases/renew', { lease_id: one.lease })
  }

  async #revoke(): Promise<void> {
    const one = this.#pick(this.held.filter(({ state }) => state === 'live'))
    if (one === undefined) return
    one.state = 'unsure'
    const dice = this.#random()
    const answer = await (dice < 0.2
      ? this.#ask('forced', 'PUT', `sys/leases/revoke-force/${one.lease}`)
      : this.#ask('revoked', 'PUT', 'sys/leases/revoke', { lease_id: one.lease, sync: dice < 0.75 }))
    if (answer !== undefined && answer.status < 300) one.state = 'ended'
  }

  async #changeRole(): Promise<void> {
    const { directory } = this.#world
    const groups = this.#random() < 0.5 ? ['web'] : ['web', 'data']
    const cloud_roles = readerAt(directory, ...groups)
    const cloud_groups = this.#random() < 0.5 ? '[]' : '[{"group_name":"foo"}]'
    const appRoles = ['Orders.Read', 'Orders.Write'].filter(() => this.#random() < 0.5)
    const cloud_app_roles = ordersRoles(directory, ...appRoles)
    const dice = this.#random()
    if (dice < 0.3)
      await this.#ask('role_changed', 'POST', 'cloud/roles/persisted', {
        cloud_roles,
        cloud_groups,
        cloud_app_roles,
      })
    else if (dice < 0.5)
      await this.#ask('role_changed', 'POST', 'cloud/roles/plain', {
        cloud_roles,
        cloud_groups,
        ttl: `${10 + Math.floor(this.#random() * 50)}m`,
        pool: Math.floor(this.#random() * 4),
      })
    else if (dice < 0.65) await this.#ask('role_trusted', 'POST', trusting, trustingRole(this.#world))
    else if (dice < 0.8) await this.#ask('role_distrusted', 'DELETE', trusting)
    else if (dice < 0.9)
      await this.#ask('role_made', 'POST', 'cloud/roles/passing', { cloud_roles, persist_app: true })
    else await this.#ask('role_deleted', 'DELETE', 'cloud/roles/passing')
  }

  async #useStaticRole(): Promise<void> {
    const name = this.#pick(staticRoles) ?? 'hasty'
    const application_object_id = this.#world.rotated.get(name)?.id
    const dice = this.#random()
    if (dice < 0.6) await this.#ask('static_rotated', 'POST', `cloud/rotate-role/${name}`)
    else if (dice < 0.7) await this.#ask('static_read', 'GET', `cloud/static-creds/${name}`)
    else if (dice < 0.8) await this.#ask('static_deleted', 'DELETE', 'cloud/static-roles/passing?revoke=true')
    else
      await this.#ask('static_written', 'POST', `cloud/static-roles/${name}`, {
        application_object_id,
        ...staticTerms[name],
      })
  }

  async #rotate(): Promise<void> {
    const mount = this.#pick(mounts) ?? 'cloud'
    await this.#ask(mount === 'cloud' ? 'secret_rotated' : 'key_rotated', 'POST', `${mount}/rotate-root`)
  }
}

/** Waits until all revocations and all cleanup are complete. */
async function settle(world: ChaosWorld, held: readonly Held[]): Promise<void> {
  const end = performance.now() + settleLimitMs
  for (const one of held) {
    if (one.state === 'live') continue
    // retried at once: the server's own next attempt may be minutes away
    const { status } = await world.call({
      method: 'PUT',
      path: 'sys/leases/revoke',
      body: { lease_id: one.lease },
    })
    if (status === 204) one.state = 'ended'
  }
  for (const name of staticRoles) {
    const path = `cloud/static-roles/${name}`
    if ((await world.call({ method: 'GET', path })).status === 404) continue
    await world.call({ method: 'POST', path, body: { disable_automated_rotation: true } })
    // waits for a rotation that is going on
    await world.call({ method: 'POST', path: `cloud/rotate-role/${name}` })
  }
  // what is made ahead has no owner but the pool
  await sendUntilDone(world, { method: 'POST', path: 'cloud/roles/plain', body: { pool: 0 } }, end)
  for (const mount of mounts)
    await sendUntilDone(world, { method: 'POST', path: `${mount}/rotate-root` }, end)
  // the roots first: what removes a former credential is debris until it has been done
  while (performance.now() < end && !(hasOneRoot(world) && (await isClean(world)))) await wait(pollMs)
}

const trusting = 'cloud/roles/trusting'
const trustingRole = ({ trusting: { id } }: ChaosWorld) => ({
  application_object_id: id,
  credential_type: 'federated',
})

async function sendUntilDone(
  world: ChaosWorld,
  request: Parameters<ChaosWorld['call']>[0],
  end: number,
): Promise<void> {
  while (performance.now() < end && (await world.call(request)).status >= 300) await wait(pollMs)
}

async function isClean(world: ChaosWorld): Promise<boolean> {
  for (const mount of mounts) {
    const { body } = await world.call({ method: 'GET', path: `${mount}/debris` })
    const { objects } = (body?.data ?? {}) as { objects?: unknown[] }
    const { data } = (await world.call({ method: 'GET', path: `${mount}/pool` })).body ?? {}
    if ((data as { idle?: number } | undefined)?.idle !== 0 || objects?.length !== 0) return false
  }
  return true
}

/** Whether the successors of the root credentials are in use, and nothing else is left of what came before. */
const hasOneRoot = ({ directory }: ChaosWorld): boolean =>
  (['password', 'certificate'] as const).every(
    (kind) =>
      directory
        .inventory()
        .filter((thing) => thing.kind === kind && thing.clientId === directory.rootClientId).length === 1,
  )

/** Pseudo-random numbers, equal for equal seeds (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
