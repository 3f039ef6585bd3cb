/** Runs `work` for each item, at most `most` at a time. The first failure ends it. */
export async function eachOf<T>(
  items: AsyncIterable<T> | Iterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>()
  try {
    for await (const item of items) {
      const run = work(item).finally(() => running.delete(run))
      // the failure is seen at the race or at the end
      run.catch(() => undefined)
      running.add(run)
      if (running.size >= most) await Promise.race(running)
    }
    await Promise.all(running)
  } finally {
    await Promise.allSettled(running)
  }
}
