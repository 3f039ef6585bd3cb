import { ApiError, ifMissing } from '../../api/errors.ts'
import {
  createMessage,
  deleteMessage,
  type FullMessage,
  type ListedMessage,
  listMessages,
  type MessageInput,
  readMessage,
  replaceMessage,
} from '../../api/message-admin.ts'
import { strings } from '../../strings.ts'

/** Whether readers see a message on the login page or after the login. */
export type Side = 'before' | 'after'

export const sideOf = ({ authenticated }: { readonly authenticated: boolean }): Side =>
  authenticated ? 'after' : 'before'

/** One message, or the two that everybody gets. */
export type Stored = Readonly<Partial<Record<Side, FullMessage>>>

export const storedOnes = ({ before, after }: Stored): readonly FullMessage[] =>
  [before, after].filter((message) => message !== undefined)

type Options = FullMessage['options']

/** The option `pair` of two messages that belong together: docs/ui.md#messages. */
export const pairOf = ({ options }: { readonly options?: Options }): string | undefined =>
  typeof options?.['pair'] === 'string' ? options['pair'] : undefined

/** The options of a message, with `pair` or without it. */
export function optionsOf(options: Options, pair: string | undefined): Options {
  const { pair: _, ...rest } = options ?? {}
  const all = { ...rest, ...(pair !== undefined && { pair }) }
  return Object.keys(all).length === 0 ? undefined : all
}

type Listed = Pick<ListedMessage, 'title' | 'type' | 'authenticated' | 'start_time' | 'end_time'>

/** Two that belong together have the same title, type and times. A list shows no options. */
export const lookAlike = (one: Listed, other: Listed): boolean =>
  one.authenticated !== other.authenticated &&
  one.title === other.title &&
  one.type === other.type &&
  one.start_time === other.start_time &&
  one.end_time === other.end_time

export const noMessages = {
  data: { keys: [] as string[], key_info: {} as Record<string, Omit<ListedMessage, 'id'>> },
}

/** A message, with the one that belongs to it if the token may list messages. */
export async function readStored(id: string, mayList: boolean, signal: AbortSignal): Promise<Stored> {
  const { data: message } = await readMessage({ params: { id } }, { signal })
  const own = { [sideOf(message)]: message }
  const pair = pairOf(message)
  if (pair === undefined || !mayList) return own
  const { data } = await ifMissing(listMessages({}, { signal }), noMessages)
  for (const key of data.keys) {
    const info = data.key_info[key]
    if (info === undefined || !lookAlike(info, message)) continue
    const { data: other } = await readMessage({ params: { id: key } }, { signal })
    if (pairOf(other) === pair) return { ...own, [sideOf(other)]: other }
  }
  return own
}

/** A change, and how to take it back. */
type Step = { readonly run: () => Promise<unknown>; readonly undo: (result: unknown) => Promise<unknown> }

/**
 * Makes what is stored into what is wanted: both messages of a pair, or neither. Returns the id of the first. What
 * went before a step that fails is taken back.
 */
export async function saveMessages(
  stored: Stored,
  wanted: Readonly<Partial<Record<Side, MessageInput>>>,
): Promise<string> {
  const [own, second] = storedOnes(stored)
  const inputs = (['before', 'after'] as const).flatMap((side) => {
    const input = wanted[side]
    return input === undefined ? [] : [{ side, input }]
  })
  const [first] = inputs
  // one message that moves to the other side keeps its id
  const moves = own !== undefined && second === undefined && inputs.length === 1
  const of = (side: Side) => (moves ? own : stored[side])
  const kept = inputs.map(({ side }) => of(side))
  const steps = [
    ...inputs.map(({ side, input }) => writing(of(side), input)),
    ...storedOnes(stored)
      .filter((message) => !kept.includes(message))
      .map(ending),
  ]
  const [result] = await runAll(steps)
  return idOf(result) ?? (first && of(first.side)?.id) ?? ''
}

export const endMessages = (stored: Stored): Promise<unknown> => runAll(storedOnes(stored).map(ending))

const writing = (before: FullMessage | undefined, body: MessageInput): Step =>
  before === undefined
    ? {
        run: async () => (await createMessage({ body })).data,
        undo: (made) => deleteMessage({ params: { id: idOf(made) ?? '' } }),
      }
    : {
        run: async () => (await replaceMessage({ params: { id: before.id }, body })).data,
        undo: () => replaceMessage({ params: { id: before.id }, body: inputOfStored(before) }),
      }

const ending = (message: FullMessage): Step => ({
  run: () => deleteMessage({ params: { id: message.id } }),
  undo: () => createMessage({ body: inputOfStored(message) }),
})

const idOf = (result: unknown): string | undefined =>
  typeof result === 'object' && result !== null && 'id' in result ? String(result.id) : undefined

function inputOfStored({ id: _id, active: _active, notice: _notice, ...fields }: FullMessage): MessageInput {
  const { end_time: end, link, options, ...rest } = fields
  return {
    ...rest,
    ...(end !== null && { end_time: end }),
    ...(link && { link }),
    ...(options && { options }),
  }
}

async function runAll(steps: readonly Step[]): Promise<readonly unknown[]> {
  const results: unknown[] = []
  try {
    for (const { run } of steps) results.push(await run())
    return results
  } catch (failure) {
    const undone = await Promise.allSettled(results.map((result, at) => steps[at]?.undo(result)))
    if (!(failure instanceof ApiError) || undone.every(({ status }) => status === 'fulfilled')) throw failure
    throw new ApiError(failure.status, [...failure.errors, strings.announcements.halfDone], failure.requestId)
  }
}
