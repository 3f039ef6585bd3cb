const units = [
  ['day', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** Beyond this, hours say nothing. */
const longDays = 14

/** `90 days`, `2 days 3 h`, `3 h 20 min`, `45 s`: at most two units. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const first = units.findIndex(([, size]) => whole >= size)
  if (first === -1) return '0 s'
  const most = whole >= longDays * 86_400 ? 1 : 2
  let rest = whole
  const parts = units.slice(first, first + most).flatMap(([unit, size]) => {
    const count = Math.floor(rest / size)
    rest %= size
    return count === 0 ? [] : [`${count} ${unit === 'day' && count > 1 ? 'days' : unit}`]
  })
  return parts.join(' ')
}

/** Whether a field of the API is a number of seconds. */
export const isDuration = (name: string, value: unknown): value is number =>
  typeof value === 'number' &&
  value > 0 &&
  /(^|[_.])(ttl|period|leeway|age|interval|window|lifetime|duration)$/.test(name)

/** As people type it into a field: `24h`, `90m`, `45s`. */
export function typedDuration(seconds: number): string {
  if (seconds === 0 || seconds % 60 !== 0) return `${seconds}s`
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds / 60}m`
}

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

const localThisYear = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

/** A moment in local time, with its year if that is another one than now; in UTC on hover. */
export function Time({ at }: { readonly at: string }) {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return <span>{at}</span>
  return (
    <time
      dateTime={at}
      title={date
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z$/, ' UTC')}
    >
      {(date.getFullYear() === new Date().getFullYear() ? localThisYear : local).format(date)}
    </time>
  )
}
