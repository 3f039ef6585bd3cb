import { useLocation } from '@tanstack/react-router'
import { type RefObject, useEffect, useState } from 'react'

/** How far each list was scrolled, by the entry of the browser's history. */
const kept = new Map<string, number>()
const most = 200

/** Where a list begins: one that the back button leads to is where it was left. */
export function useKeptScroll(scroller: RefObject<HTMLElement | null>, name: string): number {
  const key = useLocation({ select: ({ state }) => `${state.__TSR_key} ${name}` })
  const [begun] = useState(() => kept.get(key) ?? 0)
  useEffect(() => {
    const list = scroller.current
    const keep = () => {
      kept.delete(key)
      kept.set(key, list?.scrollTop ?? 0)
      for (const [oldest] of kept) if (kept.size > most) kept.delete(oldest)
    }
    list?.addEventListener('scroll', keep, { passive: true })
    return () => list?.removeEventListener('scroll', keep)
  }, [scroller, key])
  return begun
}
