import { setTimeout as pause } from 'node:timers/promises'

/** Resolves after this time, or when the signal is aborted. Does not keep the process alive. */
export const wait = (ms: number, ended: AbortSignal): Promise<void> =>
  pause(Math.max(0, ms), undefined, { signal: ended, ref: false }).catch(() => undefined)

/** Resolves when the signal is aborted. */
export const untilAborted = (ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (ended.aborted) resolve()
    ended.addEventListener('abort', () => resolve(), { once: true })
  })
