import { useSyncExternalStore } from 'react'

/** The one place of the token: this tab's sessionStorage. No cookie, no URL, nothing that outlives the tab. */
const key = 'gatehouse.token'

export type SessionEnd = 'logged-out' | 'ended' | 'expired'

const listeners = new Set<() => void>()
const doubters = new Set<() => void>()
let lastEnd: SessionEnd | undefined

const changed = () => {
  for (const listener of listeners) listener()
}

export const session = {
  /** Null: nobody is logged in. */
  get token(): string | null {
    return sessionStorage.getItem(key)
  },
  /** Why the last session of this page ended. */
  get lastEnd(): SessionEnd | undefined {
    return lastEnd
  },
  begin(token: string): void {
    sessionStorage.setItem(key, token)
    lastEnd = undefined
    changed()
  },
  end(why: SessionEnd): void {
    if (sessionStorage.getItem(key) === null) return
    sessionStorage.removeItem(key)
    lastEnd = why
    changed()
  },
  /** A call was refused: the token may have ended. */
  doubt(): void {
    for (const doubter of doubters) doubter()
  },
  onDoubt(doubter: () => void): () => void {
    doubters.add(doubter)
    return () => void doubters.delete(doubter)
  },
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useToken = (): string | null => useSyncExternalStore(subscribe, () => session.token)
