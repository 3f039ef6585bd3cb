import { useQuery } from '@tanstack/react-query'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { PlaceLink } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { type Pool, readPools } from './calls.ts'

const text = strings.cloud

const refreshMs = 5_000

/** How many credentials are made ahead, and how many there should be. */
export function Pools({ mount }: { readonly mount: string }) {
  const params = { cloud_mount_path: mount }
  const { data, error } = useQuery({
    queryKey: ['cloud-pools', mount],
    queryFn: async ({ signal }) => (await readPools({ params }, { signal })).data,
    refetchInterval: ({ state }) => isFilling(state.data) && refreshMs,
  })
  return (
    <>
      <ViewHeader title={text.aspects.pool} requests={[readPools.request({ params })]} />
      <Failure error={error} />
      {data?.roles.length === 0 && (
        <EmptyState title={text.noPools}>
          <p>{text.noPoolsNext}</p>
        </EmptyState>
      )}
      {data !== undefined && data.roles.length > 0 && (
        <>
          <p role="status">{text.idle(data.idle, data.wanted)}</p>
          <Table
            name="cloud-pools"
            label={text.aspects.pool}
            columns={columnsOf(mount)}
            rows={data.roles}
            keyOf={({ role }) => role}
          />
        </>
      )}
    </>
  )
}

/** The server fills pools by itself; a page that nobody needs to watch asks nothing. */
const isFilling = (data: { readonly idle: number; readonly wanted: number } | undefined): boolean =>
  data !== undefined && data.idle !== data.wanted

const columnsOf = (mount: string): readonly Column<Pool>[] => [
  {
    id: 'role',
    title: text.role,
    by: ({ role }) => role,
    cell: ({ role }) => (
      <PlaceLink view="cloud" parts={[mount, 'roles', role]}>
        {role}
      </PlaceLink>
    ),
  },
  {
    id: 'ready',
    title: text.ready,
    width: '8rem',
    by: ({ ready, size }) => ready - size,
    cell: ({ ready, size }) => text.readyOf(ready, size),
  },
  {
    id: 'oldest',
    title: text.oldest,
    width: '13rem',
    cell: ({ oldest }) => (oldest === null ? '–' : <Time at={oldest} />),
  },
  {
    id: 'error',
    title: text.lastError,
    width: '2fr',
    wraps: true,
    cell: ({ error, retry_at: at }) => (
      <>
        {error || text.noError}
        {at !== null && (
          <>
            {' '}
            ({text.nextTry} <Time at={at} />)
          </>
        )}
      </>
    ),
  },
]
