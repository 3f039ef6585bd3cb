import type { Message } from './message.ts'
import { messageRecord } from './message-record.ts'
import { messageSize } from './message-size.ts'
import type { NamespaceMessages } from './namespace-messages.ts'

/** A change that waits to be written. In the end, exactly one of the two functions is called. */
export type MessageChange = { written(): void; reject(cause: unknown): void } & (
  | { readonly deletes: string; readonly next?: never }
  /** Returns the message to write, or undefined; throws to refuse. */
  | { next(messages: NamespaceMessages): Message | undefined; readonly deletes?: never }
)

/** What one write may hold; a single change may be larger. */
const [mostTogether, mostBytes] = [64, 1024 * 1024]

export type DecidedChanges = {
  /** The number of changes that were decided. */
  readonly taken: number
  /** The messages after them. */
  readonly messages: NamespaceMessages
  /** What has to be written, by the ids of messages. */
  readonly records: ReadonlyMap<string, object>
  /** Call once the records are written. */
  settle(): void
}

/** Decides on the first of the changes, up to a deletion. A change that is refused leaves the others alone. */
export function decideChanges(before: NamespaceMessages, waiting: readonly MessageChange[]): DecidedChanges {
  const records = new Map<string, object>()
  const outcomes: (() => void)[] = []
  let messages = before
  let bytes = 0
  for (const change of waiting) {
    if (change.next === undefined || outcomes.length === mostTogether || bytes >= mostBytes) break
    try {
      const message = change.next(messages)
      if (message !== undefined) {
        const after = messages.with(message)
        records.set(message.id, messageRecord(message))
        messages = after
        bytes += messageSize(message)
      }
      outcomes.push(() => change.written())
    } catch (cause) {
      outcomes.push(() => change.reject(cause))
    }
  }
  return {
    taken: outcomes.length,
    messages,
    records,
    settle: () => {
      for (const settle of outcomes) settle()
    },
  }
}
