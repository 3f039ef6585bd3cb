import { useEffect, useState } from 'react'
import { ApiError } from '../api/errors.ts'
import { type Mounts, type SealStatus, sealStatus, visibleMounts } from '../api/server.ts'
import { useNamespace } from '../session/namespace.ts'

/** What the server can do for somebody who wants to log in. */
export type ServerState =
  | { readonly kind: 'asking' }
  | { readonly kind: 'ready'; readonly mounts: Mounts }
  | { readonly kind: 'closed'; readonly seal: SealStatus }
  | { readonly kind: 'starting' | 'storage' | 'away' }

const retryMs = 5_000

/** Asks once, and while the server cannot serve, again until it can; `again` asks at once. */
export function useServer(): { readonly server: ServerState; readonly again: () => void } {
  const namespace = useNamespace()
  const [server, setServer] = useState<ServerState>({ kind: 'asking' })
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another namespace has other mounts
  useEffect(() => {
    const ended = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      const now = await currentState(ended.signal)
      if (ended.signal.aborted) return
      setServer(now)
      if (now.kind !== 'ready') timer = setTimeout(ask, retryMs)
    }
    void ask()
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [namespace, round])
  return { server, again: () => setRound(round + 1) }
}

async function currentState(signal: AbortSignal): Promise<ServerState> {
  try {
    const { data } = await visibleMounts({}, { token: null, signal })
    return { kind: 'ready', mounts: data }
  } catch (error) {
    if (error instanceof ApiError && error.status !== 503 && error.status !== 0)
      return { kind: 'ready', mounts: { auth: {}, secret: {} } }
  }
  try {
    const status = await sealStatus({}, { token: null, signal })
    return !status.initialized || status.sealed ? { kind: 'closed', seal: status } : { kind: 'storage' }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) return { kind: 'away' }
    return { kind: error.errors.some((text) => text.includes('storage')) ? 'storage' : 'starting' }
  }
}
