import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Call, clientTokenOf, textIn } from '../../simulators/operator.ts'
import type { Signer } from '../../test/plugins/jwt-auth/signer.ts'
import type { Model } from './linearize.ts'
import { ask, insist, judge, play, type World } from './play.ts'

/** What a run has created and must find again at its end. */
export type Made = {
  /** Token → accessor, of tokens that nothing ends. */
  readonly tokens: Map<string, string>
  /** Subject → the ids of the entities that its logins returned. */
  readonly entities: Map<string, Set<string>>
}

type Scene = (world: World, parts: { signer: Signer; made: Made; name: string }) => Promise<void>

const pick = <T>(random: () => number, ...items: readonly [T, ...T[]]): T =>
  items[Math.floor(random() * items.length)] ?? items[0]

const post = (path: string, body: unknown = {}) => ({ method: 'POST', path, body })

/** A use is refused once there are none left, and succeeds before; a revocation ends all. */
const limitedToken: Scene = async (world, { name }) => {
  const uses = 1 + Math.floor(world.random() * 5)
  const token = clientTokenOf(await insist(world, post('auth/token/create', { num_uses: uses, ttl: '1h' })))
  const model: Model<number, 'use' | 'revoke', boolean> = {
    initial: uses,
    next: (left, input, isSuccess) => {
      if (input === 'revoke') return 0
      if (isSuccess === undefined) return Math.max(left - 1, 0)
      if (isSuccess) return left > 0 ? left - 1 : undefined
      return left === 0 ? 0 : undefined
    },
  }
  await play(world, {
    name: `${name}: a token with ${uses} uses`,
    model,
    clients: 4,
    calls: 3,
    choose: (random) => (random() < 0.05 ? 'revoke' : 'use'),
    // each use is a write
    isRead: () => false,
    perform: async (input, replica) => {
      const call = { method: 'GET', path: 'auth/token/lookup-self', token }
      const answer = await ask(world, replica, input === 'use' ? call : revocation(world, token))
      return answer && answer.status < 300
    },
  })
}

const revocation = (world: World, token: string) => ({
  ...post('auth/token/revoke', { token }),
  token: world.replicas.rootToken,
})

/** A parent and its child work until the parent is revoked, and then neither does again. */
const revokedParent: Scene = async (world, { name }) => {
  const parent = clientTokenOf(await insist(world, post('auth/token/create', { ttl: '1h' })))
  const child = clientTokenOf(await insist(world, post('auth/token/create', { ttl: '30m' }), parent))
  type Input = 'parent' | 'child' | 'renew' | 'revoke'
  const model: Model<boolean, Input, boolean> = {
    initial: true,
    next: (isLive, input, isSuccess) => {
      if (input === 'revoke') return false
      return isSuccess === undefined || isSuccess === isLive ? isLive : undefined
    },
  }
  const seenDead = new Map<number, number>()
  await play(world, {
    name: `${name}: a parent and its child`,
    model,
    clients: 5,
    calls: 6,
    choose: (random) =>
      random() < 0.05 ? 'revoke' : pick<Input>(random, 'parent', 'child', 'child', 'renew'),
    isRead: (input) => input === 'parent' || input === 'child',
    perform: async (input, replica) => {
      const deadSince = seenDead.get(replica)
      const lookup = { method: 'GET', path: 'auth/token/lookup-self' }
      const { rootToken } = world.replicas
      const calls = {
        parent: { ...lookup, token: parent },
        child: { ...lookup, token: child },
        renew: { ...post('auth/token/renew', { token: parent }), token: rootToken },
        revoke: revocation(world, parent),
      }
      const answer = await ask(world, replica, calls[input])
      if (answer === undefined) return undefined
      const isSuccess = answer.status < 300
      if (input === 'parent' && !isSuccess && deadSince === undefined)
        seenDead.set(replica, performance.now())
      if (input === 'parent' && isSuccess && deadSince !== undefined)
        world.problem(`${name}: replica ${replica} accepted a token that it had refused`)
      return isSuccess
    },
  })
}

/**
 * A server that was paused answers nothing from copies that are too old by then: its first answers know what
 * was revoked meanwhile.
 */
export const pausedServer = async (world: World, name: string, pauseMs: number): Promise<void> => {
  const { replicas } = world
  if (replicas.pause === undefined) return
  const paused = Math.floor(world.random() * replicas.urls.length)
  const other = (paused + 1) % replicas.urls.length
  const tokens = await Promise.all(
    Array.from({ length: 8 }, async () =>
      clientTokenOf(await insist(world, post('auth/token/create', { ttl: '1h' }))),
    ),
  )
  const model: Model<boolean, 'use' | 'revoke', boolean> = {
    initial: true,
    next: (isLive, input, isSuccess) => {
      if (input === 'revoke') return false
      return isSuccess === undefined || isSuccess === isLive ? isLive : undefined
    },
  }
  const histories = tokens.map((token) => {
    const played: Parameters<typeof judge<boolean, 'use' | 'revoke', boolean>>[2][number][] = []
    const timed = async (input: 'use' | 'revoke', replica: number, call: Call) => {
      const asked = performance.now()
      const answer = await ask(world, replica, call)
      const start = input === 'use' ? asked - world.copiesMs : asked
      const output = answer && answer.status < 300
      played.push({ start, end: performance.now(), input, output, replica })
    }
    return {
      played,
      use: () => timed('use', paused, { method: 'GET', path: 'auth/token/lookup-self', token }),
      revoke: () => timed('revoke', other, revocation(world, token)),
    }
  })
  // from now on, it has copies of them
  await Promise.all(histories.map(({ use }) => use()))
  const resume = replicas.pause(paused)
  try {
    await Promise.all(histories.map(({ revoke }) => revoke()))
    await pause(Math.max(pauseMs, world.copiesMs + 100))
    const used = Promise.all(histories.map(({ use }) => use()))
    // the requests have arrived before it continues
    await pause(50)
    resume()
    await used
  } finally {
    resume()
  }
  for (const { played } of histories) judge(world, { name: `${name}: a paused server`, model }, played)
}

type TakeInput = 'take'
const takenOnce: Model<boolean, TakeInput, boolean> = {
  initial: true,
  next: (isThere, _, isSuccess) => (isSuccess === undefined || isSuccess === isThere ? false : undefined),
}

const wrapped: Scene = async (world, { name }) => {
  const wrapping = await insist(world, {
    ...post('sys/wrapping/wrap', { secret: name }),
    headers: { 'X-Vault-Wrap-TTL': '60' },
  })
  const token = textIn(wrapping, 'wrap_info', 'token')
  await play(world, {
    name: `${name}: a wrapping token`,
    model: takenOnce,
    clients: 4,
    calls: 2,
    choose: () => 'take',
    isRead: () => false,
    perform: async (_, replica) => {
      const answer = await ask(world, replica, { ...post('sys/wrapping/unwrap'), token })
      return answer && answer.status < 300
    },
  })
}

const oneTimeJwt: Scene = async (world, { name, signer }) => {
  const jwt = signer.sign(someClaims({ sub: 'once', jti: name }))
  await play(world, {
    name: `${name}: a one-time JWT`,
    model: takenOnce,
    clients: 4,
    calls: 2,
    choose: () => 'take',
    isRead: () => false,
    perform: async (_, replica) => {
      const answer = await ask(world, replica, post('auth/jwt/login', { role: 'once', jwt }))
      return answer && answer.status < 300
    },
  })
}

/** All logins of a new subject return the entity that the first one created. */
const newSubject: Scene = async (world, { name, signer, made }) => {
  const ids = new Set<string>()
  made.entities.set(name, ids)
  const model: Model<string | null, 'log in', string> = {
    initial: null,
    next: (id, _, output) => {
      if (output === undefined) return id
      return id === null || id === output ? output : undefined
    },
  }
  await play(world, {
    name: `${name}: a new subject`,
    model,
    clients: 4,
    calls: 2,
    choose: () => 'log in',
    isRead: () => false,
    perform: async (_, replica) => {
      const jwt = signer.sign(someClaims({ sub: name }))
      const answer = await ask(world, replica, post('auth/jwt/login', { role: 'many', jwt }))
      if (answer === undefined) return undefined
      const id = textIn(answer, 'auth', 'entity_id')
      ids.add(id)
      made.tokens.set(clientTokenOf(answer), textIn(answer, 'auth', 'accessor'))
      return id
    },
  })
}

type Fields = { readonly metadata: string; readonly policies: string }

/** A write of one field keeps the other one, which somebody else may be writing. */
const twoFields: Scene = async (world, { name }) => {
  await insist(world, post(`identity/entity/name/${name}`, { metadata: { at: '0' }, policies: ['p0'] }))
  type Input = { readonly field?: keyof Fields; readonly to: string }
  const model: Model<Fields, Input, Fields | 'written'> = {
    initial: { metadata: '0', policies: 'p0' },
    next: (fields, { field, to }, output) => {
      if (field !== undefined) return { ...fields, [field]: to }
      return output === undefined || JSON.stringify(output) === JSON.stringify(fields) ? fields : undefined
    },
  }
  let written = 0
  await play(world, {
    name: `${name}: two fields of an entity`,
    model,
    clients: 4,
    calls: 4,
    choose: (random) => {
      const to = `p${++written}`
      return pick<Input>(random, { to: '' }, { field: 'metadata', to }, { field: 'policies', to })
    },
    isRead: ({ field }) => field === undefined,
    perform: async ({ field, to }, replica) => {
      const { rootToken: token } = world.replicas
      const path = `identity/entity/name/${name}`
      if (field !== undefined) {
        const body = field === 'metadata' ? { metadata: { at: to } } : { policies: [to] }
        return (await mustSucceed(world, replica, { ...post(path, body), token })) && 'written'
      }
      const answer = await ask(world, replica, { method: 'GET', path, token })
      if (answer === undefined) return undefined
      const { metadata, policies } = (
        answer.body as { data: { metadata: { at: string }; policies: string[] } }
      ).data
      return { metadata: metadata.at, policies: policies.join() }
    },
  })
}

type RegisterInput = { readonly write: string | null } | 'read'

/** A text that is written, deleted and read as a whole; null while there is none. */
const register: Model<string | null, RegisterInput, string | null> = {
  initial: null,
  next: (text, input, output) => {
    if (input !== 'read') return input.write
    return output === undefined || output === text ? text : undefined
  },
}

function chooseOfRegister(text: (written: number) => string) {
  let written = 0
  return (random: () => number): RegisterInput => {
    const chance = random()
    if (chance < 0.4) return { write: text(++written) }
    return chance < 0.5 ? { write: null } : 'read'
  }
}

const registerOf = (
  world: World,
  given: {
    name: string
    path: string
    member: string
    token: string
    isCopied: boolean
    text(written: number): string
    /** Further members of a write. */
    others?: object
  },
) =>
  play(world, {
    name: given.name,
    model: register,
    clients: 4,
    calls: 4,
    choose: chooseOfRegister(given.text),
    isRead: (input) => given.isCopied && input === 'read',
    perform: async (input, replica) => {
      const { path, token, member } = given
      if (input !== 'read') {
        const call =
          input.write === null
            ? { method: 'DELETE', path }
            : post(path, { ...given.others, [member]: input.write })
        const answer = await mustSucceed(world, replica, { ...call, token })
        return answer === undefined ? undefined : input.write
      }
      const answer = await ask(world, replica, { method: 'GET', path, token })
      if (answer === undefined) return undefined
      return answer.status === 404 ? null : textIn(answer, 'data', member)
    },
  })

/** Undefined: the outcome is unknown. */
async function mustSucceed(world: World, replica: number, call: Call): Promise<Answer | undefined> {
  const answer = await ask(world, replica, call)
  if (answer !== undefined && answer.status > 299)
    world.problem(`${call.method} ${call.path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer
}

const policy: Scene = async (world, { name }) => {
  const { rootToken: token } = world.replicas
  await registerOf(world, {
    name: `${name}: a policy`,
    path: `sys/policies/acl/${name}`,
    member: 'policy',
    token,
    isCopied: true,
    text: (written) => `path "secret/${written}" { capabilities = ["read"] }`,
  })
}

const jwtRole: Scene = async (world, { name }) => {
  const { rootToken: token } = world.replicas
  await registerOf(world, {
    name: `${name}: a role`,
    path: `auth/jwt/role/${name}`,
    member: 'user_claim',
    token,
    isCopied: true,
    text: (written) => `claim${written}`,
    others: { role_type: 'jwt', bound_audiences: 'gate' },
  })
}

const cubbyhole: Scene = async (world, { name }) => {
  const token = clientTokenOf(await insist(world, post('auth/token/create', { ttl: '1h' })))
  await registerOf(world, {
    name: `${name}: a cubbyhole`,
    path: 'cubbyhole/one',
    member: 'text',
    token,
    isCopied: false,
    text: (written) => `text ${written}`,
  })
}

/** Tokens that are created during the run, and must all be there at its end. */
const newTokens: Scene = async (world, { made }) => {
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      const answer = await insist(world, post('auth/token/create', { ttl: '1h' }))
      const token = clientTokenOf(answer)
      if (made.tokens.has(token)) world.problem('one token was issued twice')
      made.tokens.set(token, textIn(answer, 'auth', 'accessor'))
      world.counts.operations++
    }),
  )
}

const nowInSeconds = () => Math.floor(Date.now() / 1000)
export const someClaims = (given: object) => ({
  iss: 'https://ci',
  aud: 'gate',
  iat: nowInSeconds() - 60,
  exp: nowInSeconds() + 3600,
  ...given,
})

export const scenes: readonly Scene[] = [
  limitedToken,
  revokedParent,
  wrapped,
  oneTimeJwt,
  newSubject,
  twoFields,
  policy,
  jwtRole,
  cubbyhole,
  newTokens,
]
