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
