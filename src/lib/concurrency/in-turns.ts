import { LongWork } from './long-work.ts'

/** Work that yields after each few items: other work may run then. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Does the work in turns of the event loop that other requests hardly notice. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  const work = new LongWork()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (work.isDue) await work.giveWay()
  }
}

/** Does the work at once. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/**
 * Starts the work on each item, a few in one turn of the event loop. What one waits for, such as a commit, holds up
 * none of the others.
 */
export async function startedInTurns<Item, Result>(
  items: readonly Item[],
  start: (item: Item) => Promise<Result>,
): Promise<PromiseSettledResult<Result>[]> {
  const work = new LongWork()
  const started: Promise<PromiseSettledResult<Result>>[] = []
  for (const item of items) {
    if (work.isDue) await work.giveWay()
    started.push(settled(start(item)))
  }
  return Promise.all(started)
}

const settled = <Result>(result: Promise<Result>): Promise<PromiseSettledResult<Result>> =>
  result.then(
    (value) => ({ status: 'fulfilled', value }),
    (reason) => ({ status: 'rejected', reason }),
  )
