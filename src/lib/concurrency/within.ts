/**
 * The outcome of work, or a rejection with `late` after this time. The work goes on then, and its outcome is
 * ignored.
 */
export async function within<T>(ms: number, work: Promise<T>, late: string): Promise<T> {
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(() => limit.reject(new Error(late)), ms)
  try {
    return await Promise.race([work, limit.promise])
  } finally {
    clearTimeout(timer)
  }
}
