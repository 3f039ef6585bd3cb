import { useQuery, useQueryClient } from '@tanstack/react-query'
import { clearFailures, explainRefusal, type LoginFailure, loginFailures } from '../../api/logins.ts'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { FixLogin } from './editor/fix-login.tsx'
import { ExplanationPanel } from './explanation.tsx'

const text = strings.logins

const refreshMs = 5_000
const most = '200'

/** Refused logins, newest first, and the checks of the one that is picked. */
export function Failures({ mount }: { readonly mount: string }) {
  const { parts, search } = usePlace()
  const { reason, role, request_id: id } = search
  const query = {
    limit: most,
    ...(reason && { reason }),
    ...(role && { role }),
    ...(id && { request_id: id }),
  }
  const { data, error } = useQuery({
    queryKey: ['login-failures', mount, query],
    queryFn: ({ signal }) => loginFailures({ params: { jwt_mount_path: mount }, query }, { signal }),
    refetchInterval: refreshMs,
  })
  const picked = parts[2]
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const { failures, since, kept, dropped } = data.data
  const isFiltered = Boolean(reason || role || id)
  return (
    <div className={picked === undefined ? 'stack' : 'beside'}>
      <section className="stack" aria-label={text.tabs.failures}>
        <Filters mount={mount} />
        {failures.length === 0 ? (
          <EmptyState title={isFiltered ? text.noMatch : text.noFailures}>
            {!isFiltered && (
              <>
                {text.noFailuresNext} <Time at={since} />
              </>
            )}
          </EmptyState>
        ) : (
          <Table
            name="login-failures"
            label={text.tabs.failures}
            columns={columnsOf(mount, search)}
            rows={failures}
            keyOf={({ request_id }) => request_id}
          />
        )}
        <p className="hint">{text.kept(kept, dropped)}</p>
        <Clear mount={mount} />
      </section>
      {picked !== undefined && <Picked mount={mount} id={picked} key={picked} />}
    </div>
  )
}

/** A role that does not exist is named by a hash only. */
const shownRole = (role: string) =>
  role.startsWith('hmac-sha256:') ? <span title={role}>{text.unknownRole(role.slice(-6))}</span> : role

const columnsOf = (
  mount: string,
  search: Readonly<Record<string, string | undefined>>,
): readonly Column<LoginFailure>[] => [
  {
    id: 'time',
    title: text.time,
    width: '12rem',
    cell: ({ time, request_id }) => (
      <PlaceLink view="logins" parts={[mount, 'failures', request_id]} search={search}>
        <Time at={time} />
      </PlaceLink>
    ),
  },
  { id: 'role', title: text.role, cell: ({ role }) => shownRole(role) },
  { id: 'reason', title: text.reason, width: '2fr', cell: ({ reason }) => <code>{reason}</code> },
  {
    id: 'from',
    title: text.from,
    width: '10rem',
    cell: ({ remote_address }) => <code>{remote_address}</code>,
  },
]

function Filters({ mount }: { readonly mount: string }) {
  const { parts, search } = usePlace()
  const go = useGo()
  const set = (name: string) => (value: string) =>
    go(
      { view: 'logins', parts: [mount, ...parts.slice(1)], search: { ...search, [name]: value } },
      { replace: true },
    )
  return (
    <search className="filters" aria-label={text.filters}>
      <Field label={text.reason} mono value={search['reason'] ?? ''} onChange={set('reason')} />
      <Field label={text.role} value={search['role'] ?? ''} onChange={set('role')} />
      <Field label={strings.requestId} mono value={search['request_id'] ?? ''} onChange={set('request_id')} />
    </search>
  )
}

function Clear({ mount }: { readonly mount: string }) {
  const path = `auth/${mount}/failures`
  const { can } = useCapabilities([path])
  const client = useQueryClient()
  if (!can(path, 'delete')) return null
  return (
    <div className="actions">
      <Confirm
        label={text.clear}
        action={text.clear}
        question={text.clearQuestion(mount)}
        onConfirmed={async () => {
          await clearFailures({ params: { jwt_mount_path: mount } })
          await client.invalidateQueries({ queryKey: ['login-failures', mount] })
        }}
      />
    </div>
  )
}

function Picked({ mount, id }: { readonly mount: string; readonly id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['login-failure', mount, id],
    queryFn: ({ signal }) =>
      explainRefusal({ params: { jwt_mount_path: mount }, query: { request_id: id } }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (error !== null) return <Failure error={error} title={text.gone} />
  return data === undefined ? null : (
    <div className="stack">
      <ExplanationPanel mount={mount} explanation={data.data} />
      <FixLogin mount={mount} explanation={data.data} onSaved={() => void refetch()} />
    </div>
  )
}
