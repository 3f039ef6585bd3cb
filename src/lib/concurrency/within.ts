/**
 * The outcome of work, or a rejection with `late` after this time; without `late`, undefined. The work goes on then,
 * and its outcome is ignored.
 */
export async function within<T>(ms: number, work: Promise<T>, late: string): Promise<T>
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined>
export async function within<T>(ms: number, work: Promise<T>, late?: string): Promise<T | undefined> {
  const limit = Promise.withResolvers<undefined>()
  const end = () => (late === undefined ? limit.resolve(undefined) : limit.reject(new Error(late)))
  const timer = setTimeout(end, ms)
  try {
    return await Promise.race([work, limit.promise])
  } finally {
    clearTimeout(timer)
  }
}
