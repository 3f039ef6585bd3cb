import { useEffect, useState } from 'react'
import { isClockInDoubt, serverNow } from '../api/clock.ts'
import { session } from './session.ts'

/** Counts down to a moment of the server's time; 0 after it. Infinity stays infinite. */
export function useCountdown(end: number): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    if (end === Number.POSITIVE_INFINITY) return
    const timer = setInterval(() => {
      // the call that asks about the token brings the server's time
      if (isClockInDoubt()) session.doubt()
      setNow(serverNow())
    }, 1000)
    return () => clearInterval(timer)
  }, [end])
  return Math.max(0, Math.round((end - now) / 1000))
}
