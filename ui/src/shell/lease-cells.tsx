import { useQuery } from '@tanstack/react-query'
import { leaseWithEnd } from '../api/leases.ts'
import { TimeLeft } from '../components/time-left.tsx'
import { strings } from '../strings.ts'
import { Who } from './who.tsx'

type Row = { readonly id: string }

/** Looked up only for the rows in sight. */
const useLease = (id: string) =>
  useQuery({
    queryKey: ['lease', id],
    enabled: !id.endsWith('/'),
    retry: false,
    staleTime: 60_000,
    meta: { isDetail: true },
    queryFn: ({ signal }) => leaseWithEnd(id, signal),
  }).data

/** Whose it is, if the token may know. */
export function LeaseHolder({ id }: Row) {
  const entity = useLease(id)?.entity_id
  return entity === undefined ? '' : <Who id={entity} />
}

export function LeaseTime({ id }: Row) {
  const lease = useLease(id)
  if (lease === undefined) return ''
  if (lease.expire_time === null) return strings.leases.unlimited
  return <TimeLeft end={lease.end} at={lease.expire_time} over={strings.leases.over} />
}
