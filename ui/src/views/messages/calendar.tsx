import { useQuery } from '@tanstack/react-query'
import { serverNow } from '../../api/clock.ts'
import { type MessageWindow, messagesPath } from '../../api/message-admin.ts'
import { Failure } from '../../components/failure.tsx'
import { visible } from '../../components/visible.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { ownZone } from './draft.ts'
import { MessagesHeader } from './header.tsx'
import { type Occurrences, occurrencesIn, overlaps, type Span } from './windows.ts'

const text = strings.announcements

const monthName = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' })
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short' })
const dayName = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

/** A month, and which messages are shown on each of its days. `?month=2026-12` names another one. */
export function Calendar({ mayCreate }: { readonly mayCreate: boolean }) {
  const { search } = usePlace()
  const month = monthOf(search['month'])
  const span = { from: month, to: monthAfter(month, 1) }
  const preview = `${messagesPath}/preview`
  const { can, isKnown } = useCapabilities([preview])
  const { data, error } = useQuery({
    queryKey: ['messages', 'calendar', addressOf(month)],
    queryFn: ({ signal }) => occurrencesIn(span, can(preview, 'create'), signal),
    enabled: isKnown,
  })
  const cut = (data ?? []).filter(({ isCut }) => isCut)
  return (
    <>
      <MessagesHeader open="calendar" mayCreate={mayCreate} />
      <nav className="months" aria-label={text.months}>
        <MonthLink month={monthAfter(month, -1)} label={text.earlier} />
        <h2>{monthName.format(month)}</h2>
        <MonthLink month={monthAfter(month, 1)} label={text.later} />
      </nav>
      <Failure error={error} />
      <Month month={month} occurrences={data ?? []} />
      {cut.length > 0 && <p className="note">{text.moreTimes(cut.map(({ title }) => title).join(', '))}</p>}
      <p className="hint">{text.zoneOf(ownZone())}</p>
    </>
  )
}

const MonthLink = ({ month, label }: { readonly month: Date; readonly label: string }) => (
  <PlaceLink view="messages" parts={['calendar']} search={{ month: addressOf(month) }} className="button">
    {label}
  </PlaceLink>
)

const monthAfter = (month: Date, count: number): Date =>
  new Date(month.getFullYear(), month.getMonth() + count, 1)

const addressOf = (month: Date): string =>
  `${month.getFullYear()}-${String(month.getMonth() + 1).padStart(2, '0')}`

function monthOf(address: string | undefined): Date {
  const [, year, month] = /^(\d{4})-(\d{2})$/.exec(address ?? '') ?? []
  return year === undefined
    ? monthAfter(new Date(serverNow()), 0)
    : new Date(Number(year), Number(month) - 1, 1)
}

/** The days of the weeks that the month touches, from Monday on. */
function weeksOf(month: Date): readonly (readonly Date[])[] {
  const before = (month.getDay() + 6) % 7
  const days = new Date(month.getFullYear(), month.getMonth() + 1, 0).getDate()
  return Array.from({ length: Math.ceil((before + days) / 7) }, (_, week) =>
    Array.from(
      { length: 7 },
      (__, day) => new Date(month.getFullYear(), month.getMonth(), week * 7 + day + 1 - before),
    ),
  )
}

type MonthProps = { readonly month: Date; readonly occurrences: readonly Occurrences[] }

function Month({ month, occurrences }: MonthProps) {
  const weeks = weeksOf(month)
  return (
    <table className="calendar" aria-label={monthName.format(month)}>
      <thead>
        <tr>
          {weeks[0]?.map((day) => (
            <th key={day.getDay()} scope="col">
              {weekday.format(day)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {weeks.map((week) => (
          <tr key={week[0]?.getTime()}>
            {week.map((day) =>
              day.getMonth() === month.getMonth() ? (
                <Day key={day.getTime()} day={day} occurrences={occurrences} />
              ) : (
                <td key={day.getTime()} className="other" />
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Day({ day, occurrences }: { readonly day: Date; readonly occurrences: readonly Occurrences[] }) {
  const span = { from: day, to: new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1) }
  const isToday = day.toDateString() === new Date(serverNow()).toDateString()
  const shown = occurrences
    .flatMap(({ id, title, windows }) =>
      windows
        .filter((window) => overlaps(window, span))
        .map((window) => ({ id, title, start: window.start_time, hours: hoursOf(window, span) })),
    )
    .toSorted((a, b) => Date.parse(a.start) - Date.parse(b.start))
  return (
    <td className={isToday ? 'today' : shown.length === 0 ? 'free' : ''}>
      <span className="day" aria-hidden="true">
        {day.getDate()}
      </span>
      <span className="hidden">{dayName.format(day)}</span>
      <ul>
        {shown.map(({ id, title, start, hours }) => (
          <li key={`${id} ${start}`}>
            {hours}{' '}
            <PlaceLink view="messages" parts={[id]}>
              {visible(title) || text.untitled}
            </PlaceLink>
          </li>
        ))}
      </ul>
    </td>
  )
}

/** Which part of a day it is. */
function hoursOf({ start_time, end_time }: MessageWindow, { from, to }: Span): string {
  const start = new Date(start_time)
  const end = end_time === null ? undefined : new Date(end_time)
  const begins = start > from ? clock.format(start) : undefined
  const ends = end !== undefined && end < to ? clock.format(end) : undefined
  if (begins !== undefined && ends !== undefined) return `${begins}–${ends}`
  if (begins !== undefined) return text.fromTime(begins)
  return ends === undefined ? text.allDay : text.untilTime(ends)
}
