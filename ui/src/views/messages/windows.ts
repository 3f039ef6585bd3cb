import { ifMissing, ifRefused } from '../../api/errors.ts'
import {
  type FullMessage,
  type ListedMessage,
  listMessages,
  type MessageWindow,
  previewMessage,
  readMessage,
} from '../../api/message-admin.ts'
import { noMessages, pairOf, sideOf } from './pair.ts'

/** A message, and when it is shown in a month. */
export type Occurrences = {
  readonly id: string
  readonly title: string
  readonly windows: readonly MessageWindow[]
  /** Its further times are not known: there are too many, or the token may not ask for them. */
  readonly isCut: boolean
}

/** Each answer has five windows. */
const mostAnswers = 12

export type Span = { readonly from: Date; readonly to: Date }

/** The times at which each message of a span is shown. Of two that belong together, only the one after the login counts. */
export async function occurrencesIn(
  span: Span,
  mayPreview: boolean,
  signal: AbortSignal,
): Promise<readonly Occurrences[]> {
  const { data } = await ifMissing(listMessages({}, { signal }), noMessages)
  const messages = await Promise.all(
    Object.entries(data.key_info)
      .filter(([, info]) => overlaps(info, span))
      .map(async ([id, info]): Promise<ListedMessage & Partial<FullMessage>> => {
        const read = await ifRefused(readMessage({ params: { id } }, { signal }), undefined)
        return read?.data ?? { id, ...info }
      }),
  )
  const isSecond = (message: (typeof messages)[number]) =>
    pairOf(message) !== undefined &&
    sideOf(message) === 'before' &&
    messages.some((other) => other !== message && pairOf(other) === pairOf(message))
  return Promise.all(
    messages
      .filter((message) => !isSecond(message))
      .map(async (message) => ({
        id: message.id,
        title: message.title,
        ...(await windowsOf(message, span, mayPreview, signal)),
      })),
  )
}

export const overlaps = ({ start_time: start, end_time: end }: MessageWindow, { from, to }: Span): boolean =>
  Date.parse(start) < to.getTime() && (end === null || Date.parse(end) > from.getTime())

async function windowsOf(
  { start_time, end_time, schedule }: ListedMessage & Partial<FullMessage>,
  span: Span,
  mayPreview: boolean,
  signal: AbortSignal,
): Promise<Pick<Occurrences, 'windows' | 'isCut'>> {
  if (schedule === undefined) return { windows: [{ start_time, end_time }], isCut: false }
  const windows: MessageWindow[] = []
  if (!mayPreview) return { windows, isCut: true }
  const fields = { title: '', message: '', start_time, ...(end_time !== null && { end_time }), schedule }
  let at = span.from.toISOString()
  for (let answers = 0; answers < mostAnswers; answers += 1) {
    const { data } = await previewMessage({ body: { ...fields, at } }, { signal })
    const found = data.windows ?? []
    windows.push(...found.filter((window) => overlaps(window, span)))
    const last = found.at(-1)?.end_time
    if (last == null || Date.parse(last) >= span.to.getTime()) return { windows, isCut: false }
    at = last
  }
  return { windows, isCut: true }
}
