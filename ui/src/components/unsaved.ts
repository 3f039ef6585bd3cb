import { useEffect, useState, useSyncExternalStore } from 'react'

const unsaved = new Set<symbol>()
const listeners = new Set<() => void>()

function change(how: () => void): void {
  how()
  for (const listener of listeners) listener()
}

/**
 * While a form holds something else than at first, leaving it asks. Returns what takes note that it is saved, for a
 * form that stays open. `held` is JSON.
 */
export function useUnsaved(held: unknown): () => void {
  const now = JSON.stringify(held)
  const [saved, setSaved] = useState(now)
  const isUnsaved = now !== saved
  useEffect(() => {
    if (!isUnsaved) return
    const own = Symbol('form')
    change(() => unsaved.add(own))
    return () => change(() => unsaved.delete(own))
  }, [isUnsaved])
  return () => setSaved(now)
}

/** Whether some form on the page would lose something. */
export const isAnythingUnsaved = (): boolean => unsaved.size > 0

export const useIsAnythingUnsaved = (): boolean =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, isAnythingUnsaved)
