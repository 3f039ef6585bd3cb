import { serverNow } from '../../api/clock.ts'
import type { ListedMessage } from '../../api/message-admin.ts'
import { strings } from '../../strings.ts'

/** The time that a timeline covers, in milliseconds. */
export type Span = { readonly from: number; readonly to: number }

const dayMs = 86_400_000
const widest = 60 * dayMs

type Times = Pick<ListedMessage, 'start_time' | 'end_time'>

/** From the first start to the last end, around now, and at most 60 days each way. */
export function spanOf(messages: readonly Times[]): Span {
  const now = serverNow()
  const moments = messages.flatMap(({ start_time: start, end_time: end }) => [
    Date.parse(start),
    ...(end === null ? [] : [Date.parse(end)]),
  ])
  const from = Math.max(Math.min(now - dayMs, ...moments), now - widest)
  const to = Math.min(Math.max(now + dayMs, ...moments), now + widest)
  return { from, to }
}

const percent = (at: number, { from, to }: Span): number =>
  Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100))

/** When a message is shown, on the line of all; a picture of the times in the row. */
export function Bar({ message, span }: { readonly message: Times; readonly span: Span }) {
  const start = percent(Date.parse(message.start_time), span)
  const end = message.end_time === null ? 100 : percent(Date.parse(message.end_time), span)
  return (
    <div className="timeline" aria-hidden="true">
      <span className="shown" style={{ left: `${start}%`, width: `${Math.max(end - start, 1)}%` }} />
      <span
        className="now"
        style={{ left: `${percent(serverNow(), span)}%` }}
        title={strings.announcements.now}
      />
    </div>
  )
}
