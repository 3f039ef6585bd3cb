import { type Fault, type FaultInput, faultFields } from './fault-fields.ts'
import type { Operation, ServiceName } from './operations.ts'
import type { Settings } from './settings.ts'

/** A request that a fault may affect. */
type FaultTarget = { readonly service: ServiceName; readonly operation: Operation; readonly path: string }

/** The ordered faults that are still pending. */
export type FaultBox = {
  order(fault: FaultInput): void
  clear(): void
  readonly pending: readonly Fault[]
  /** Returns the fault for this request and counts one use of it. */
  take(call: FaultTarget): Fault | undefined
  /** Calls `done` on `release`, unless the returned function is called first. */
  hold(done: () => void): () => void
  /** Sends every held response. */
  release(): void
}

export function makeFaultBox(chaosOf: () => Settings['chaos']): FaultBox {
  let pending: Fault[] = []
  const held = new Set<() => void>()
  let chaos: { order: Settings['chaos']; next: () => number } = { order: null, next: () => 1 }

  function takeChaos(): Fault | undefined {
    const order = chaosOf()
    if (order === null) return undefined
    if (chaos.order !== order) chaos = { order, next: randomFrom(order.seed) }
    const met = chaos.next() < order.probability
    const fault = order.faults[Math.floor(chaos.next() * order.faults.length)]
    return met ? fault : undefined
  }

  const applies = (fault: Fault | undefined, { service, operation, path }: FaultTarget) =>
    fault !== undefined &&
    (fault.service ?? service) === service &&
    (fault.operation ?? operation) === operation &&
    path.includes(fault.path ?? '')

  return {
    order: (fault) => void pending.push(faultFields.parse(fault)),
    clear: () => {
      pending = []
    },
    get pending() {
      return pending
    },
    take: (call) => {
      for (const fault of pending.filter((one) => applies(one, call))) {
        if (fault.skip > 0) {
          fault.skip -= 1
          continue
        }
        if (fault.times !== null) fault.times -= 1
        pending = pending.filter(({ times }) => times !== 0)
        return fault
      }
      const fault = takeChaos()
      return applies(fault, call) ? fault : undefined
    },
    hold: (done) => {
      held.add(done)
      return () => held.delete(done)
    },
    release: () => {
      for (const done of held) done()
      held.clear()
    },
  }
}

/** Pseudo-random numbers from 0 to 1, equal for equal seeds (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
