import { deepEqual } from 'node:assert/strict'

export const given = (name: string): string => process.env[name] ?? ''
export const expectEqual: (seen: unknown, wanted: unknown) => void = deepEqual

/** Runs an operation of a client, and prints whether it fails. */
export async function operation(name: string, body: () => Promise<void>): Promise<void> {
  await fetch(`${given('CONTROL_URL')}?operation=${encodeURIComponent(name)}`, { method: 'PUT' })
  const error = await body().then(
    () => undefined,
    (cause: unknown) =>
      cause instanceof Error ? `${cause.name}: ${cause.message}${sentErrors(cause)}` : String(cause),
  )
  process.stdout.write(`${JSON.stringify({ operation: name, ...(error === undefined ? {} : { error }) })}\n`)
}

/** The server's errors, which an error of axios only carries. */
function sentErrors(cause: Error): string {
  const { response } = cause as { response?: { data?: { errors?: readonly string[] } } }
  return (response?.data?.errors ?? []).map((text) => `: ${text}`).join('')
}

/** Throws unless the promise rejects. */
export async function expectRefusal(promise: PromiseLike<unknown>): Promise<void> {
  const refused = await promise.then(
    () => false,
    () => true,
  )
  if (!refused) throw new Error('the call was accepted')
}
