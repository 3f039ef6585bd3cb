/** `2 d 3 h`, `4:05` below an hour. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [days, hours] = [Math.floor(whole / 86_400), Math.floor((whole % 86_400) / 3600)]
  const [minutes, rest] = [Math.floor((whole % 3600) / 60), String(whole % 60).padStart(2, '0')]
  if (days > 0) return hours === 0 ? `${days} d` : `${days} d ${hours} h`
  if (hours > 0) return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`
  return `${minutes}:${rest}`
}

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** A moment in local time; in UTC on hover. */
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
      {local.format(date)}
    </time>
  )
}
