import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Call, send } from '../../simulators/operator.ts'
import { isLinearizable, type Model, type Operation } from './linearize.ts'

/** The servers that share one database. A restarted one may have another address. */
export type Replicas = {
  readonly urls: readonly string[]
  readonly rootToken: string
  /** Stops a server (SIGSTOP), if it is a process. Returns a function that lets it continue. */
  pause?(replica: number): () => void
}

export type World = {
  readonly replicas: Replicas
  /** From 0 to 1. */
  random(): number
  /** Greatest age of the copies that a server answers reads from. */
  readonly copiesMs: number
  readonly counts: { operations: number; unknown: number }
  /** An error that no rule permits. */
  problem(text: string): void
}

/** What the clients of one object do. */
export type Play<State, Input, Output> = {
  readonly name: string
  readonly model: Model<State, Input, Output>
  readonly clients: number
  /** Of each client. */
  readonly calls: number
  choose(random: () => number): Input
  /** Whether a server answers this from its copies. */
  isRead(input: Input): boolean
  /** Sends the request to one replica. Undefined: whether it had an effect is unknown. */
  perform(input: Input, replica: number): Promise<Output | undefined>
}

/** An operation at one of the servers. */
type Played<Input, Output> = Operation<Input, Output> & { readonly replica: number }

/** Counts the operations on one object, which must be linearizable. */
export function judge<State, Input, Output>(
  world: World,
  { name, model }: { readonly name: string; readonly model: Model<State, Input, Output> },
  history: readonly Played<Input, Output>[],
): void {
  world.counts.operations += history.length
  world.counts.unknown += history.filter(({ output }) => output === undefined).length
  if (!isLinearizable(model, history)) world.problem(`${name}: ${told(history)}`)
}

/** Several clients call one object at any replicas; the history must be linearizable. */
export async function play<State, Input, Output>(
  world: World,
  given: Play<State, Input, Output>,
): Promise<readonly Operation<Input, Output>[]> {
  const history: Played<Input, Output>[] = []
  const client = async () => {
    for (let call = 0; call < given.calls; call++) {
      const replica = Math.floor(world.random() * world.replicas.urls.length)
      const input = given.choose(world.random)
      const asked = performance.now()
      const output = await given.perform(input, replica)
      const start = given.isRead(input) ? asked - world.copiesMs : asked
      history.push({ start, end: performance.now(), input, output, replica })
    }
  }
  await Promise.all(Array.from({ length: given.clients }, client))
  judge(world, given, history)
  return history
}

/** One request to a replica. Undefined if it failed in a way that leaves open whether it had an effect. */
export async function ask(world: World, replica: number, call: Call): Promise<Answer | undefined> {
  const answer = await sendOnce(world, replica, call)
  if (answer === undefined || answer.status === 503) {
    await pause(shortMs)
    return undefined
  }
  if (answer.status >= 500)
    world.problem(`${call.method} ${call.path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer
}

/** As `ask` at any replica, by default as the operator, until the outcome is known. */
export async function insist(
  world: World,
  call: Omit<Call, 'token'>,
  token = world.replicas.rootToken,
): Promise<Answer> {
  for (;;) {
    const replica = Math.floor(world.random() * world.replicas.urls.length)
    const answer = await ask(world, replica, { ...call, token })
    if (answer !== undefined) return answer
  }
}

/** Undefined: the connection ended before the answer. */
async function sendOnce(world: World, replica: number, call: Call): Promise<Answer | undefined> {
  for (;;) {
    try {
      return await send(world.replicas.urls[replica] ?? '', call)
    } catch (error) {
      if (!isConnectionError(error)) throw error
      // nobody got the request
      if (!isRefused(error)) return undefined
      await pause(shortMs)
    }
  }
}

const shortMs = 50

const isRefused = ({ cause }: Error): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'

/** `fetch` and its streams reject with these when a server ends, or is not there. */
const isConnectionError = (error: unknown): error is Error =>
  error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError')

function told(history: readonly Played<unknown, unknown>[]): string {
  const first = Math.min(...history.map(({ start }) => start))
  return history
    .toSorted((one, other) => one.start - other.start)
    .map(({ start, end, input, output, replica }) => {
      const times = `${Math.round(start - first)}-${Math.round(end - first)} ms`
      return `\n  ${times} at ${replica}: ${JSON.stringify(input)} → ${JSON.stringify(output) ?? 'unknown'}`
    })
    .join('')
}
