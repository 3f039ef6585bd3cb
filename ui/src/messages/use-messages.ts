import { useEffect, useState } from 'react'
import { ApiError } from '../api/errors.ts'
import { type Audience, readMessages, type ShownMessage } from '../api/messages.ts'
import { useNamespace } from '../session/namespace.ts'

/** After a refusal, and where the server does not hold the request. */
const pauseMs = 60_000
/** After a failure that passes: the server is sealed, starts, or is away. */
const retryMs = 5_000

/**
 * The messages of the namespace, always current: one request at a time waits for the next change, while the page
 * is visible. After a failure, the last known ones stay.
 */
export function useMessages(audience: Audience): readonly ShownMessage[] {
  const namespace = useNamespace()
  const [messages, setMessages] = useState<readonly ShownMessage[]>([])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another namespace has other messages
  useEffect(() => {
    const ended = new AbortController()
    void follow(audience, ended.signal, setMessages)
    return () => ended.abort()
  }, [audience, namespace])
  return messages
}

async function follow(
  audience: Audience,
  signal: AbortSignal,
  show: (messages: readonly ShownMessage[]) => void,
): Promise<void> {
  let etag = ''
  while (!signal.aborted) {
    const began = performance.now()
    let longMs = pauseMs
    // a browser keeps few connections to a server: a hidden page must not hold one
    const waits = etag !== '' && document.visibilityState === 'visible'
    const [request, release] = endedWhenHidden(signal, waits)
    try {
      const shown = await readMessages(audience, { etag, waits, signal: request })
      if (signal.aborted) return
      if (shown !== undefined) {
        etag = shown.etag
        show(shown.messages)
        continue
      }
    } catch (failure) {
      if (signal.aborted) return
      if (!request.aborted) etag = ''
      if (isPassing(failure)) longMs = retryMs
    } finally {
      release()
    }
    if (document.visibilityState === 'hidden') await untilVisible(signal)
    else if (!request.aborted) await pause(longMs - (performance.now() - began), signal)
  }
}

const isPassing = (failure: unknown): boolean =>
  failure instanceof ApiError && (failure.status === 0 || failure.status >= 500)

function endedWhenHidden(signal: AbortSignal, waits: boolean): [AbortSignal, () => void] {
  if (!waits) return [signal, () => {}]
  const hidden = new AbortController()
  const listener = () => {
    if (document.visibilityState === 'hidden') hidden.abort()
  }
  document.addEventListener('visibilitychange', listener)
  return [
    AbortSignal.any([signal, hidden.signal]),
    () => document.removeEventListener('visibilitychange', listener),
  ]
}

const untilVisible = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      if (document.visibilityState === 'hidden' && !signal.aborted) return
      document.removeEventListener('visibilitychange', done)
      resolve()
    }
    document.addEventListener('visibilitychange', done)
    signal.addEventListener('abort', done, { once: true })
  })

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.max(ms, 0))
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
