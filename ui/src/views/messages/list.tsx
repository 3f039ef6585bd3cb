import { useQuery } from '@tanstack/react-query'
import { serverNow } from '../../api/clock.ts'
import { ifMissing } from '../../api/errors.ts'
import { type ListedMessage, listMessages } from '../../api/message-admin.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { Bar, type Span, spanOf } from './timeline.tsx'

const text = strings.announcements

export type MessageState = 'active' | 'scheduled' | 'expired'

export const stateOf = ({
  active,
  start_time: start,
}: Pick<ListedMessage, 'active' | 'start_time'>): MessageState =>
  active ? 'active' : Date.parse(start) >= serverNow() ? 'scheduled' : 'expired'

const order: readonly MessageState[] = ['active', 'scheduled', 'expired']

export function List({ mayCreate }: { readonly mayCreate: boolean }) {
  const { search } = usePlace()
  const { data, error } = useQuery({
    queryKey: ['messages'],
    queryFn: ({ signal }) => ifMissing(listMessages({}, { signal }), none),
  })
  const messages = Object.entries(data?.data.key_info ?? {})
    .map(([id, fields]) => ({ id, ...fields }))
    .toSorted(
      (a, b) =>
        order.indexOf(stateOf(a)) - order.indexOf(stateOf(b)) || a.start_time.localeCompare(b.start_time),
    )
  const shown = messages.filter((message) => matches(message, search))
  const span = spanOf(messages)
  return (
    <>
      <ViewHeader title={strings.views['messages'] ?? ''} requests={[listMessages.request({})]}>
        {mayCreate && (
          <PlaceLink view="messages" parts={['new']} className="button primary">
            {text.create}
          </PlaceLink>
        )}
      </ViewHeader>
      <Failure error={error} />
      {data !== undefined && messages.length === 0 && (
        <EmptyState title={text.none}>{text.noneNext}</EmptyState>
      )}
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
          <p className="hint">{text.zone(Intl.DateTimeFormat().resolvedOptions().timeZone)}</p>
        </>
      )}
    </>
  )
}

const none = { data: { keys: [] as string[], key_info: {} as Record<string, Omit<ListedMessage, 'id'>> } }

const matches = (message: ListedMessage, search: Readonly<Record<string, string | undefined>>): boolean =>
  message.title.toLowerCase().includes((search['title'] ?? '').toLowerCase()) &&
  (!search['state'] || stateOf(message) === search['state']) &&
  (!search['shown'] || (message.authenticated ? 'after' : 'before') === search['shown'])

const columnsOf = (span: Span): readonly Column<ListedMessage>[] => [
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
    cell: (message) => <span className={`state ${stateOf(message)}`}>{text.states[stateOf(message)]}</span>,
  },
  {
    id: 'kind',
    title: text.kind,
    width: '11rem',
    cell: ({ type, authenticated }) => text.kindOf(type, authenticated),
  },
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
  const { search } = usePlace()
  const go = useGo()
  const set = (name: string) => (value: string) =>
    go({ view: 'messages', search: { ...search, [name]: value } }, { replace: true })
  return (
    <search className="filters">
      <Field label={text.title} value={search['title'] ?? ''} onChange={set('title')} />
      <Select
        label={text.state}
        value={search['state'] ?? ''}
        onChange={set('state')}
        options={[['', text.all], ...order.map((state) => [state, text.states[state]] as const)]}
      />
      <Select
        label={text.shown}
        value={search['shown'] ?? ''}
        onChange={set('shown')}
        options={[
          ['', text.all],
          ['before', text.before],
          ['after', text.after],
        ]}
      />
    </search>
  )
}
