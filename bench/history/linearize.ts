/** One call of a client, in milliseconds of one clock. `output` is undefined if no one knows its outcome. */
export type Operation<Input, Output> = {
  readonly start: number
  readonly end: number
  readonly input: Input
  readonly output: Output | undefined
}

/**
 * What one object does when it is called by one client at a time. States are compared as JSON.
 */
export type Model<State, Input, Output> = {
  readonly initial: State
  /**
   * The state after the call. Undefined if the object cannot respond to it with this output in this state; an
   * undefined output stands for any.
   */
  next(state: State, input: Input, output: Output | undefined): State | undefined
}

/**
 * Whether the history of one object is linearizable: each operation can be given a moment between its start
 * and its end, so that the object gives these outputs if it is called in this order. An operation without a
 * known outcome may have happened at any moment after its start, or never.
 *
 * The algorithm is that of Wing and Gong (1993), with the memory of visited states that Lowe added (2017).
 */
export function isLinearizable<State, Input, Output>(
  { initial, next }: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
): boolean {
  const operations = history
    .map((operation) => ({
      ...operation,
      end: operation.output === undefined ? Number.POSITIVE_INFINITY : operation.end,
    }))
    .toSorted((one, other) => one.start - other.start)
  const known = operations.reduce(
    (mask, { output }, at) => (output === undefined ? mask : mask | bit(at)),
    0n,
  )
  const visited = new Set<string>()

  const canFinish = (done: bigint, state: State): boolean => {
    if ((done & known) === known) return true
    const place = `${done} ${JSON.stringify(state)}`
    if (visited.has(place)) return false
    visited.add(place)
    let firstEnd = Number.POSITIVE_INFINITY
    for (const [at, { start, end, input, output }] of operations.entries()) {
      // what started after another one's end comes after it
      if (start > firstEnd) break
      if ((done & bit(at)) !== 0n) continue
      firstEnd = Math.min(firstEnd, end)
      const after = next(state, input, output)
      if (after !== undefined && canFinish(done | bit(at), after)) return true
    }
    return false
  }
  return canFinish(0n, initial)
}

const bit = (at: number): bigint => 1n << BigInt(at)
