import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { Fragment } from 'react'
import { ApiError } from '../../api/errors.ts'
import { clearFailures, explainRefusal, type LoginFailure, loginFailures } from '../../api/logins.ts'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Time } from '../../components/time.tsx'
import { visible } from '../../components/visible.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useParameter, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { FixLogin } from './editor/fix-login.tsx'
import { ExplanationPanel } from './explanation.tsx'
import { FailureRows, ShownName } from './failure-rows.tsx'
import { RefusalChart } from './refusal-chart.tsx'

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
    // the filters stay while somebody types in them
    placeholderData: keepPreviousData,
  })
  const picked = parts[2]
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const { failures, since, kept, dropped } = data.data
  const isFiltered = Boolean(reason || role || id)
  return (
    <div className={picked === undefined ? 'stack' : 'beside'}>
      <section className="stack" aria-label={text.tabs.failures}>
        <Filters />
        {failures.length === 0 ? (
          <EmptyState title={isFiltered ? text.noMatch : text.noFailures}>
            {!isFiltered && (
              <>
                {text.noFailuresNext} <Time at={since} />
              </>
            )}
          </EmptyState>
        ) : (
          <>
            {failures.length > 1 && <RefusalChart failures={failures} />}
            <FailureRows mount={mount} failures={failures} />
          </>
        )}
        <p className="hint">{text.kept(kept, dropped)}</p>
        <Clear mount={mount} />
      </section>
      {picked !== undefined && (
        <div className="stack" key={picked}>
          <Picked mount={mount} id={picked} />
          <LookedAt failure={failures.find(({ request_id }) => request_id === picked)} />
        </div>
      )}
    </div>
  )
}

function Filters() {
  const [reason, setReason] = useParameter('reason')
  const [role, setRole] = useParameter('role')
  const [id, setId] = useParameter('request_id')
  return (
    <search className="filters" aria-label={text.filters}>
      <Field label={text.reason} mono value={reason} onChange={setReason} />
      <Field label={text.role} value={role} onChange={setRole} />
      <Field label={strings.requestId} mono value={id} onChange={setId} />
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
  if (error instanceof ApiError && error.status === 404) return <Failure error={error} title={text.gone} />
  if (error !== null) return <Failure error={error} />
  return data === undefined ? null : (
    <div className="stack">
      <FixLogin mount={mount} explanation={data.data} onSaved={() => void refetch()} />
      <ExplanationPanel mount={mount} explanation={data.data} />
    </div>
  )
}

/** The subject of a refused login, and the claims of its token that the role looks at. */
function LookedAt({ failure }: { readonly failure: LoginFailure | undefined }) {
  if (failure === undefined || failure.subject === '') return null
  const { subject, looked_at: looked, verified } = failure
  const claims = Object.entries(looked)
  return (
    <section className="panel" aria-labelledby="looked-at">
      <h2 id="looked-at">{text.who}</h2>
      <dl className="facts">
        <dt>{text.subject}</dt>
        <dd>
          <ShownName name={subject} />
        </dd>
        {claims.map(([name, value]) => (
          <Fragment key={name}>
            <dt className="mono">{name}</dt>
            <dd className="mono">{visible(value)}</dd>
          </Fragment>
        ))}
      </dl>
      {claims.length > 0 && !verified && <p className="hint">{text.unverified}</p>}
    </section>
  )
}
