import { useCountdown } from '../session/use-countdown.ts'
import { shortDuration, Time } from './time.tsx'

type Props = {
  /** In the server's time, counted since its answer. */
  readonly end: number
  /** The same moment, as the server names it. */
  readonly at: string
  /** Shown once nothing is left. */
  readonly over?: string
}

/** The time that something has left, counting down, and when it ends. */
export function TimeLeft({ end, at, over }: Props) {
  const left = useCountdown(end)
  if (left === 0 && over !== undefined) return over
  return (
    <>
      {shortDuration(left)} (<Time at={at} />)
    </>
  )
}
