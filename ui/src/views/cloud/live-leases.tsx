import { useQuery } from '@tanstack/react-query'
import { keysOf } from '../../api/errors.ts'
import { listLeases } from '../../api/leases.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { LeaseHolder, LeaseTime } from '../../shell/lease-cells.tsx'
import { PlaceLink } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.cloud

/** A lease, or all of a role where there are too many roles to list the leases of each. */
type Row = { readonly role: string; readonly id: string }

/** So many roles have their leases listed here, one call each. */
const mostRoles = 50

/** The credentials that are valid now. */
export function LiveLeases({ mount }: { readonly mount: string }) {
  const prefix = `${mount}/creds/`
  const { data, error } = useQuery({
    queryKey: ['leases', 'cloud', mount],
    queryFn: ({ signal }) => rowsBelow(prefix, signal),
  })
  return (
    <>
      <ViewHeader title={text.aspects.leases} requests={[listLeases.request({ params: { path: prefix } })]} />
      <Failure error={error} />
      {data?.length === 0 && <EmptyState title={text.noLeases}>{text.noLeasesNext}</EmptyState>}
      {data !== undefined && data.length > 0 && (
        <Table
          name="live-leases"
          label={text.aspects.leases}
          columns={columnsOf(mount)}
          rows={data}
          keyOf={({ id }) => id}
        />
      )}
    </>
  )
}

const namesBelow = async (path: string, signal: AbortSignal): Promise<readonly string[]> => {
  return keysOf(listLeases({ params: { path } }, { signal }))
}

async function rowsBelow(prefix: string, signal: AbortSignal): Promise<readonly Row[]> {
  const folders = await namesBelow(prefix, signal)
  const rows = await Promise.all(
    folders.map(async (folder, at) => {
      const role = folder.replace(/\/$/, '')
      const below = `${prefix}${folder}`
      if (at >= mostRoles) return [{ role, id: below }]
      return (await namesBelow(below, signal)).map((name) => ({ role, id: `${below}${name}` }))
    }),
  )
  return rows.flat()
}

const columnsOf = (mount: string): readonly Column<Row>[] => [
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
  { id: 'left', title: text.timeLeft, width: '18rem', wraps: true, cell: ({ id }) => <LeaseTime id={id} /> },
  { id: 'of', title: strings.leases.of, cell: ({ id }) => <LeaseHolder id={id} /> },
  {
    id: 'lease',
    title: text.lease,
    width: '2fr',
    cell: ({ id }) => (
      <PlaceLink view="leases" parts={[id]} className="mono">
        {id.endsWith('/') ? text.allOfRole : id.slice(id.lastIndexOf('/') + 1)}
      </PlaceLink>
    ),
  },
]
