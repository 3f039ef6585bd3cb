import { setTimeout as pause } from 'node:timers/promises'
import { aSigner } from '../../test/plugins/jwt-auth/signer.ts'
import { seededRandom } from '../../test/support/disk/simulated-disk.ts'
import { ask, insist, type Replicas, type World } from './play.ts'
import { type Made, pausedServer, scenes, someClaims } from './scenes.ts'

export type HistoryOptions = {
  readonly replicas: Replicas
  readonly seed: number
  /** How often each scene is played. */
  readonly times: number
  /** How long a server is paused, once. */
  readonly pauseMs?: number
  readonly copiesMs?: number
}

export type HistoryCounts = {
  readonly operations: number
  /** Operations whose outcome no client knows, because a server or the database ended. */
  readonly unknown: number
  /** Acknowledged tokens that do not exist at the end, and entities that are missing. */
  readonly lost: number
  /** Subjects with more than one entity. */
  readonly doubled: number
  /** Other contradictions. */
  readonly problems: readonly string[]
}

const scenesAtOnce = 4
const signer = aSigner('ES256')

/**
 * Clients at all replicas create, use and end tokens, roles, policies and entities. What they saw must be
 * what one server could have answered, except that reads may come from copies that are up to `copiesMs` old.
 */
export async function runHistory(given: HistoryOptions): Promise<HistoryCounts> {
  const problems: string[] = []
  const counts = { operations: 0, unknown: 0 }
  const world: World = {
    replicas: given.replicas,
    random: seededRandom(given.seed),
    copiesMs: given.copiesMs ?? 1000,
    counts,
    problem: (text) => void problems.push(text),
  }
  const made: Made = { tokens: new Map(), entities: new Map() }
  await configureLogins(world)
  const waiting = shuffled(
    scenes.flatMap((scene, kind) =>
      Array.from({ length: given.times }, (_, time) => ({ scene, name: `h${given.seed}-${kind}-${time}` })),
    ),
    world.random,
  )
  const player = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      await next.scene(world, { signer, made, name: next.name })
  }
  const pausing = pausedServer(world, `h${given.seed}`, given.pauseMs ?? 0)
  await Promise.all([pausing, ...Array.from({ length: scenesAtOnce }, player)])
  return { ...counts, problems, ...(await missing(world, made)) }
}

/** Resolves when all replicas accept logins. */
async function configureLogins(world: World): Promise<void> {
  const write = (path: string, body: unknown) => insist(world, { method: 'POST', path, body })
  await write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
  await write('auth/jwt/role/once', { ...role, token_replay_protection: true })
  await write('auth/jwt/role/many', role)
  for (const replica of world.replicas.urls.keys()) {
    for (const role of ['once', 'many']) {
      const jwt = () => signer.sign(someClaims({ sub: 'first', jti: crypto.randomUUID() }))
      const logIn = () =>
        ask(world, replica, { method: 'POST', path: 'auth/jwt/login', body: { role, jwt: jwt() } })
      while ((await logIn())?.status !== 200) await pause(20)
    }
  }
}

/** Looks for everything that was acknowledged. */
async function missing(world: World, made: Made): Promise<{ lost: number; doubled: number }> {
  let lost = 0
  let doubled = 0
  const accessors = new Set(made.tokens.values())
  doubled += made.tokens.size - accessors.size
  await Promise.all(
    [...made.tokens].map(async ([token, accessor]) => {
      const { body } = await insist(world, { method: 'GET', path: 'auth/token/lookup-self' }, token)
      const data = body?.['data'] as { accessor?: string } | undefined
      if (data?.accessor !== accessor) lost++
    }),
  )
  for (const ids of made.entities.values()) {
    if (ids.size > 1) doubled++
    for (const id of ids) {
      const { status } = await insist(world, { method: 'GET', path: `identity/entity/id/${id}` })
      if (status !== 200) lost++
    }
  }
  return { lost, doubled }
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, order: random() }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ item }) => item)
}
