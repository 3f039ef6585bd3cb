import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keysOf } from '../../api/errors.ts'
import {
  irrevocableLeases,
  leaseWithEnd,
  listLeases,
  lookUpLease,
  renewLease,
  revokeLease,
} from '../../api/leases.ts'
import { tidyLeases } from '../../api/tidy.ts'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { TimeLeft } from '../../components/time-left.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { visible } from '../../components/visible.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { ViewLoading } from '../../shell/outcomes.tsx'
import { Tidy } from '../../shell/tidy.tsx'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import { LeaseList } from './lease-list.tsx'
import { lookup, OpenPrefix } from './open-prefix.tsx'
import { RevocationPanel, useRevocation } from './revoke-all.tsx'

const text = strings.leases

/** `#/leases/<prefix or id>`: a path that is empty or ends in a slash is a prefix. */
export function View() {
  const { parts } = usePlace()
  const [path = ''] = parts
  return (
    <div className="view">
      {path === '' ? (
        <Everything />
      ) : path.endsWith('/') ? (
        <Prefix key={path} prefix={path} />
      ) : (
        <Lease key={path} id={path} />
      )}
    </div>
  )
}

const pollMs = 1000

const above = (path: string): string => path.slice(0, path.replace(/\/$/, '').lastIndexOf('/') + 1)

const Up = ({ path }: { readonly path: string }) => (
  <p>
    <PlaceLink view="leases" parts={above(path) === '' ? [] : [above(path)]}>
      {above(path) === '' ? text.all : above(path)}
    </PlaceLink>
  </p>
)

/** All leases, or for a token that may list some of them only, a way to those. */
function Everything() {
  const { can, isKnown } = useCapabilities([lookup])
  if (!isKnown) return <ViewLoading />
  return can(lookup, 'list') && can(lookup, 'sudo') ? <Prefix prefix="" /> : <OpenPrefix />
}

function Prefix({ prefix }: { readonly prefix: string }) {
  const revocation = useRevocation(prefix)
  const { can } = useCapabilities(['sys/leases'])
  const { data, error } = useQuery({
    queryKey: ['leases', prefix],
    queryFn: ({ signal }) => keysOf(listLeases({ params: { path: prefix } }, { signal })),
    refetchInterval: revocation.isRunning && pollMs,
  })
  return (
    <>
      {prefix !== '' && <Up path={prefix} />}
      <ViewHeader
        title={prefix === '' ? (strings.views['leases'] ?? '') : prefix}
        requests={[listLeases.request({ params: { path: prefix } })]}
      >
        {revocation.may && !revocation.isRunning && data !== undefined && data.length > 0 && (
          <Confirm
            label={text.revokeAll}
            of={prefix}
            question={text.revokeAllQuestion(prefix)}
            action={text.revokeAll}
            onConfirmed={revocation.begin}
          >
            <p>{text.revokeAllHint(data.length)}</p>
            {revocation.mayCancel && <p>{text.leavingCancels}</p>}
          </Confirm>
        )}
      </ViewHeader>
      <Failure error={error} />
      <RevocationPanel {...revocation} />
      {data?.length === 0 && (
        <EmptyState title={revocation.state === undefined ? text.none : text.allRevoked}>
          <p>{text.noneNext}</p>
        </EmptyState>
      )}
      {data !== undefined && data.length > 0 && <LeaseList prefix={prefix} names={data} />}
      {prefix === '' && can('sys/leases', 'read') && can('sys/leases', 'sudo') && <Irrevocable />}
      {prefix === '' && <Tidy path="sys/leases/tidy" hint={text.tidyHint} run={() => tidyLeases({})} />}
    </>
  )
}

type Stuck = { readonly lease_id: string; readonly error: string }

const stuckColumns: readonly Column<Stuck>[] = [
  {
    id: 'id',
    title: text.id,
    cell: ({ lease_id: id }) => (
      <PlaceLink view="leases" parts={[id]} className="mono">
        {id}
      </PlaceLink>
    ),
  },
  { id: 'error', title: text.reason, width: '2fr', wraps: true, cell: ({ error }) => error },
]

/** Leases that the server gave up on revoking. */
function Irrevocable() {
  const query = { type: 'irrevocable' }
  const { data, error } = useQuery({
    queryKey: ['leases', 'irrevocable'],
    queryFn: async ({ signal }) => (await irrevocableLeases({ query }, { signal })).data,
  })
  if (data?.lease_count === 0) return null
  return (
    <section className="panel" aria-labelledby="irrevocable">
      <h2 id="irrevocable">{text.irrevocable}</h2>
      <Failure error={error} />
      {data !== undefined && (
        <Table
          name="irrevocable-leases"
          label={text.irrevocable}
          columns={stuckColumns}
          rows={data.leases}
          keyOf={({ lease_id: id }) => id}
        />
      )}
    </section>
  )
}

/** Tokens are renewed by themselves, or by their accessor. */
const isOfToken = (id: string): boolean => id.startsWith('auth/')

function Lease({ id }: { readonly id: string }) {
  const client = useQueryClient()
  const go = useGo()
  const { can } = useCapabilities(['sys/leases/renew', 'sys/leases/revoke'])
  const [failure, setFailure] = useState<unknown>()
  const { data, error } = useQuery({
    queryKey: ['lease', id],
    retry: false,
    queryFn: ({ signal }) => leaseWithEnd(id, signal),
  })
  const renew = async () => {
    try {
      await renewLease({ body: { lease_id: id } })
      setFailure(undefined)
      await client.invalidateQueries({ queryKey: ['lease', id] })
      announce(strings.done(text.renew))
    } catch (refusal) {
      setFailure(refusal)
    }
  }
  return (
    <>
      <Up path={id} />
      <ViewHeader title={text.lease} requests={[lookUpLease.request({ body: { lease_id: id } })]}>
        {data?.renewable === true && !isOfToken(id) && can('sys/leases/renew', 'update') && (
          <Button onPress={() => void renew()}>{text.renew}</Button>
        )}
        {data !== undefined && can('sys/leases/revoke', 'update') && (
          <Confirm
            label={text.revoke}
            of={id}
            question={text.revokeQuestion(id)}
            action={text.revoke}
            onConfirmed={async () => {
              await revokeLease({ body: { lease_id: id, sync: true } })
              await client.invalidateQueries({ queryKey: ['leases'] })
              go({ view: 'leases', parts: [above(id)] }, { replace: true })
            }}
          >
            <p>{text.revokeHint}</p>
          </Confirm>
        )}
      </ViewHeader>
      <Failure error={error ?? failure} />
      {data !== undefined && (
        <section className="panel">
          <dl className="facts">
            <dt>{text.id}</dt>
            <dd className="mono">{data.id}</dd>
            {data.entity_id !== undefined && (
              <>
                <dt>{text.of}</dt>
                <dd>
                  <Who id={data.entity_id} />
                </dd>
              </>
            )}
            <dt>{text.timeLeft}</dt>
            <dd>
              {data.expire_time === null ? (
                text.unlimited
              ) : (
                <TimeLeft end={data.end} at={data.expire_time} over={text.over} />
              )}
            </dd>
            <dt>{text.issued}</dt>
            <dd>
              <Time at={data.issue_time} />
            </dd>
            {data.last_renewal !== null && (
              <>
                <dt>{text.renewed}</dt>
                <dd>
                  <Time at={data.last_renewal} />
                </dd>
              </>
            )}
            {data.revoke_error !== undefined && (
              <>
                <dt>{text.reason}</dt>
                <dd>{visible(data.revoke_error)}</dd>
              </>
            )}
          </dl>
        </section>
      )}
    </>
  )
}
