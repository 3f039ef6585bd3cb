/** Resolves after this time, or when the signal is aborted. Does not keep the process alive. */
export const wait = (ms: number, ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(finish, Math.max(0, ms)).unref()
    function finish() {
      clearTimeout(timer)
      ended.removeEventListener('abort', finish)
      resolve()
    }
    if (ended.aborted) finish()
    else ended.addEventListener('abort', finish)
  })

export const untilAborted = (ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (ended.aborted) resolve()
    ended.addEventListener('abort', () => resolve(), { once: true })
  })
