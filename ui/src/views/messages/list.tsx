import { useQuery } from '@tanstack/react-query'
import { serverNow } from '../../api/clock.ts'
import { ifMissing, ifRefused } from '../../api/errors.ts'
import { type ListedMessage, listMessages, readMessage } from '../../api/message-admin.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { PlaceLink, useParameter, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { ownZone, type Shown } from './draft.ts'
import { MessagesHeader } from './header.tsx'
import { lookAlike, noMessages, pairOf, sideOf } from './pair.ts'
import { Bar, type Span, spanOf } from './timeline.tsx'

const text = strings.announcements

export type MessageState = 'active' | 'scheduled' | 'expired'

/** Between two of its times, a message that recurs is scheduled. */
export const stateOf = ({
  active,
  end_time: end,
}: Pick<ListedMessage, 'active' | 'end_time'>): MessageState => {
  if (active) return 'active'
  const isOver = end !== null && Date.parse(end) <= serverNow()
  return isOver ? 'expired' : 'scheduled'
}

const kinds = { active: 'good', scheduled: 'waiting', expired: 'over' } as const

export const ShownState = ({ state }: { readonly state: MessageState }) => (
  <State kind={kinds[state]}>{text.states[state]}</State>
)

const order: readonly MessageState[] = ['active', 'scheduled', 'expired']

type Row = ListedMessage & { readonly shown: Shown }

export function List({ mayCreate }: { readonly mayCreate: boolean }) {
  const { search } = usePlace()
  const { data, error } = useQuery({
    queryKey: ['messages'],
    queryFn: async ({ signal }) =>
      joined((await ifMissing(listMessages({}, { signal }), noMessages)).data.key_info, signal),
  })
  const messages = (data ?? []).toSorted(
    (a, b) =>
      order.indexOf(stateOf(a)) - order.indexOf(stateOf(b)) || a.start_time.localeCompare(b.start_time),
  )
  const shown = messages.filter((message) => matches(message, search))
  const span = spanOf(messages)
  return (
    <>
      <MessagesHeader open="list" mayCreate={mayCreate} />
      <Failure error={error} />
      {data?.length === 0 && <EmptyState title={text.none}>{text.noneNext}</EmptyState>}
      {messages.length > 0 && (
        <>
          <Filters />
          <Table
            name="messages"
            label={text.list}
            columns={columnsOf(span)}
            rows={shown}
            keyOf={({ id }) => id}
          />
          <p className="hint">{text.zone(ownZone())}</p>
        </>
      )}
    </>
  )
}

/** The messages, with two that belong together as one. Only those that look alike are read. */
async function joined(
  info: Readonly<Record<string, Omit<ListedMessage, 'id'>>>,
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const messages = Object.entries(info).map(([id, fields]) => ({ id, ...fields, shown: sideOf(fields) }))
  const alike = messages.filter((one) => messages.some((other) => lookAlike(one, other)))
  const pairs = new Map(
    await Promise.all(alike.map(async ({ id }) => [id, await readPairOf(id, signal)] as const)),
  )
  const partner = (one: Row) =>
    pairs.get(one.id) === undefined
      ? undefined
      : alike.find((other) => lookAlike(one, other) && pairs.get(one.id) === pairs.get(other.id))
  return messages
    .filter((one) => one.authenticated || partner(one) === undefined)
    .map((one) => (partner(one) === undefined ? one : { ...one, shown: 'everybody' as const }))
}

/** Who may list messages, but read none, sees two. */
const readPairOf = async (id: string, signal: AbortSignal): Promise<string | undefined> => {
  const message = await ifRefused(readMessage({ params: { id } }, { signal }), undefined)
  return message && pairOf(message.data)
}

const matches = (message: Row, search: Readonly<Record<string, string | undefined>>): boolean =>
  message.title.toLowerCase().includes((search['title'] ?? '').toLowerCase()) &&
  (!search['state'] || stateOf(message) === search['state']) &&
  (!search['shown'] || message.shown === search['shown'])

const columnsOf = (span: Span): readonly Column<Row>[] => [
  {
    id: 'title',
    title: text.title,
    width: '1.5fr',
    cell: ({ id, title }) => (
      <PlaceLink view="messages" parts={[id]}>
        {title || text.untitled}
      </PlaceLink>
    ),
  },
  {
    id: 'state',
    title: text.state,
    width: '8rem',
    cell: (message) => <ShownState state={stateOf(message)} />,
  },
  { id: 'kind', title: text.kind, width: '11rem', cell: ({ type, shown }) => text.kindOf(type, shown) },
  { id: 'start', title: text.starts, width: '13rem', cell: ({ start_time }) => <Time at={start_time} /> },
  {
    id: 'end',
    title: text.ends,
    width: '13rem',
    cell: ({ end_time }) => (end_time === null ? text.never : <Time at={end_time} />),
  },
  { id: 'timeline', title: text.timeline, cell: (message) => <Bar message={message} span={span} /> },
]

function Filters() {
  const [title, setTitle] = useParameter('title')
  const [state, setState] = useParameter('state')
  const [shown, setShown] = useParameter('shown')
  return (
    <search className="filters">
      <Field label={text.title} value={title} onChange={setTitle} />
      <Select
        label={text.state}
        value={state}
        onChange={setState}
        options={[['', text.all], ...order.map((state) => [state, text.states[state]] as const)]}
      />
      <Select
        label={text.shown}
        value={shown}
        onChange={setShown}
        options={[['', text.all], ...Object.entries(text.shownTo)]}
      />
    </search>
  )
}
