import { useMemo } from 'react'
import { endAfter } from '../../api/clock.ts'
import { type Column, Table } from '../../components/table.tsx'
import { shortDuration, Time } from '../../components/time.tsx'
import { useCountdown } from '../../session/use-countdown.ts'
import { labelOf, usePeople } from '../../shell/people.ts'
import { PlaceLink } from '../../shell/use-place.tsx'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import type { listTokens } from './calls.ts'

const text = strings.access

type Listed = Awaited<ReturnType<typeof listTokens>>['data']
type Info = NonNullable<Listed['tokens']>[number]

export type TokenRow = Info & { readonly end: number }

/** The tokens of a list with details. */
export const rowsOf = ({ tokens = [] }: Listed): readonly TokenRow[] =>
  tokens.map((info) => ({ ...info, end: endAfter(info.ttl) }))

/** `jwt/` of `auth/jwt/login`. */
const methodOf = (path: string): string =>
  /^auth\/(.*\/)(?=login|oidc|create)/.exec(path)?.[1] ?? path.replace(/^auth\//, '')

const columnsOf = (personOf: (id: string) => string): readonly Column<TokenRow>[] => [
  {
    id: 'name',
    title: text.displayName,
    by: ({ accessor, display_name }) => display_name || accessor,
    cell: ({ accessor, display_name }) => (
      <PlaceLink view="access" parts={['tokens', accessor]}>
        {display_name || accessor}
      </PlaceLink>
    ),
  },
  {
    id: 'method',
    title: text.method,
    width: '6.5rem',
    by: ({ path }) => methodOf(path),
    cell: ({ path }) => <code>{methodOf(path)}</code>,
  },
  {
    id: 'entity',
    title: text.entity,
    by: ({ entity_id }) => personOf(entity_id),
    cell: ({ entity_id }) => (entity_id === '' ? '–' : <Who id={entity_id} />),
  },
  { id: 'policies', title: text.policies, by: policiesOf, cell: policiesOf },
  {
    id: 'created',
    title: text.created,
    width: '9.5rem',
    by: ({ creation_time }) => creation_time,
    cell: ({ creation_time }) => <Time at={new Date(creation_time * 1000).toISOString()} />,
  },
  {
    id: 'left',
    title: text.timeLeft,
    width: '7.5rem',
    by: ({ expire_time, end }) => (expire_time === null ? Number.POSITIVE_INFINITY : end),
    cell: ({ expire_time, end }) =>
      expire_time === null ? text.unlimited : <Left end={end} at={expire_time} />,
  },
  {
    id: 'uses',
    title: text.uses,
    width: '6rem',
    by: ({ num_uses }) => num_uses || Number.POSITIVE_INFINITY,
    cell: ({ num_uses }) => (num_uses > 0 ? num_uses.toLocaleString() : text.unlimited),
  },
]

const policiesOf = ({ policies }: TokenRow) => policies.join(', ')

/** When it ends is on the page of the token, and here on hover. */
function Left({ end, at }: { readonly end: number; readonly at: string }) {
  return (
    <time dateTime={at} title={at}>
      {shortDuration(useCountdown(end))}
    </time>
  )
}

export function TokenTable({ rows }: { readonly rows: readonly TokenRow[] }) {
  const { people } = usePeople()
  const columns = useMemo(() => {
    const names = new Map(people?.map((person) => [person.id, labelOf(person)]))
    return columnsOf((id) => names.get(id) ?? id)
  }, [people])
  return (
    <Table
      name="tokens"
      label={text.tabs.tokens}
      columns={columns}
      rows={rows}
      keyOf={({ accessor }) => accessor}
    />
  )
}
