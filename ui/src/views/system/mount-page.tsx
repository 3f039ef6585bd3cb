import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ifRefused } from '../../api/errors.ts'
import { leasesBelow } from '../../api/leases.ts'
import { tuneAuth } from '../../api/logins.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { typedDuration } from '../../components/time.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useReach } from '../../shell/acl.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import {
  authMounts,
  disableAuth,
  disableSecrets,
  type Mount,
  move,
  moveStatus,
  secretMounts,
  tuneSecrets,
} from './calls.ts'
import { callPath, type Kind } from './kinds.ts'

const text = strings.system

type Props = { readonly kind: Kind; readonly path: string; readonly mount: Mount }

/** One mount: what it is, and how it is tuned, moved and disabled. */
export function MountPage({ kind, path, mount }: Props) {
  const own = callPath(kind, path)
  const { can } = useCapabilities([own, `${own}/tune`, 'sys/remount'])
  return (
    <>
      <p>
        <PlaceLink view="system" parts={[kind]}>
          {text.tabs[kind]}
        </PlaceLink>
      </p>
      <ViewHeader title={path} requests={[(kind === 'secrets' ? secretMounts : authMounts).request({})]}>
        <OpenMount kind={kind} path={path} type={mount.type} />
        {can(own, 'delete') && <Disable kind={kind} path={path} />}
      </ViewHeader>
      <section className="panel">
        <dl className="facts">
          <dt>{text.type}</dt>
          <dd>{mount.type}</dd>
          <dt>{text.accessor}</dt>
          <dd className="mono">{mount.accessor}</dd>
        </dl>
      </section>
      {can(`${own}/tune`, 'update') && <Tune kind={kind} path={path} mount={mount} />}
      {can('sys/remount', 'update') && can('sys/remount', 'sudo') && <Move kind={kind} path={path} />}
      <ObjectHistory path={`${own}/tune`} />
    </>
  )
}

/** Where a mount of a type is shown with what is in it, such as the configuration of a new one. */
const placeOf: Readonly<Record<string, (name: string) => readonly [view: string, ...parts: string[]]>> = {
  kv: (name) => ['secrets', `${name}/`],
  cloud: (name) => ['cloud', name],
  azure: (name) => ['cloud', name],
  jwt: (name) => ['logins', name, 'status'],
  oidc: (name) => ['logins', name, 'status'],
  kubernetes: (name) => ['logins', name, 'status'],
  userpass: (name) => ['logins', name],
  approle: (name) => ['logins', name],
}

function OpenMount({ kind, path, type }: Pick<Props, 'kind' | 'path'> & { readonly type: string }) {
  const { reaches } = useReach()
  const [view, ...parts] = placeOf[type]?.(path.replace(/\/$/, '')) ?? []
  if (view === undefined || !reaches(kind === 'secrets' ? path : `auth/${path}`)) return null
  return (
    <PlaceLink view={view} parts={parts} className="button">
      {text.openMount(strings.views[view] ?? view)}
    </PlaceLink>
  )
}

const useChanged = () => {
  const client = useQueryClient()
  return async () => {
    for (const key of ['mount-table', 'mounts', 'capabilities', 'history'])
      await client.invalidateQueries({ queryKey: [key] })
  }
}

function Disable({ kind, path }: { readonly kind: Kind; readonly path: string }) {
  const changed = useChanged()
  const go = useGo()
  const below = kind === 'secrets' ? path : `auth/${path}`
  const { can } = useCapabilities([`sys/leases/lookup/${below}`])
  const { data } = useQuery({
    queryKey: ['leases-below', kind, path],
    queryFn: ({ signal }) => ifRefused(countBelow(below, signal), null),
    enabled: can(`sys/leases/lookup/${below}`, 'sudo'),
  })
  return (
    <Confirm
      label={text.disable}
      question={text.disableQuestion(path)}
      action={text.disable}
      onConfirmed={async () => {
        await (kind === 'secrets' ? disableSecrets : disableAuth)({
          params: { path: path.replace(/\/$/, '') },
        })
        await changed()
        go({ view: 'system', parts: [kind] }, { replace: true })
      }}
    >
      <p>{text.disableHint(data ?? undefined)}</p>
    </Confirm>
  )
}

const mostCalls = 50

/** How many leases are below a prefix; null if there are too many folders to count here. */
async function countBelow(prefix: string, signal: AbortSignal): Promise<number | null> {
  let [count, calls] = [0, 0]
  for await (const ids of leasesBelow(prefix, signal)) {
    count += ids.length
    calls += 1
    if (calls > mostCalls) return null
  }
  return count
}

function Tune({ kind, path, mount }: Props) {
  const changed = useChanged()
  const [description, setDescription] = useState(mount.description)
  const [ttl, setTtl] = useState(typedDuration(mount.config.default_lease_ttl))
  const [maxTtl, setMaxTtl] = useState(typedDuration(mount.config.max_lease_ttl))
  const [visibility, setVisibility] = useState(mount.config.listing_visibility ?? 'hidden')
  const [outcome, setOutcome] = useState<{ error?: unknown; saved?: boolean }>({})
  const markSaved = useUnsaved([description, ttl, maxTtl, visibility])
  const save = useAction(async () => {
    const body = {
      description,
      default_lease_ttl: ttl,
      max_lease_ttl: maxTtl,
      listing_visibility: visibility,
    }
    try {
      await (kind === 'secrets' ? tuneSecrets : tuneAuth)({ params: { path: path.replace(/\/$/, '') }, body })
      await changed()
      markSaved()
      setOutcome({ saved: true })
    } catch (error) {
      setOutcome({ error })
    }
  })
  return (
    <section className="panel" aria-labelledby="tune">
      <h2 id="tune">{text.tune}</h2>
      <form className="filters" onSubmit={(event) => void save(event)}>
        <Field label={text.description} value={description} onChange={setDescription} />
        <Field label={text.ttl} hint={text.ttlHint} value={ttl} onChange={setTtl} />
        <Field label={text.maxTtl} hint={text.ttlHint} value={maxTtl} onChange={setMaxTtl} />
        <Select
          label={text.visibility}
          value={visibility === '' ? 'hidden' : visibility}
          onChange={setVisibility}
          options={[
            ['hidden', text.hidden],
            ['unauth', text.shownToAll],
          ]}
        />
        <div className="actions">
          <Button type="submit">{text.save}</Button>
          <span role="status">{outcome.saved === true && text.saved}</span>
        </div>
      </form>
      <Failure error={outcome.error} />
    </section>
  )
}

const pollMs = 500

function Move({ kind, path }: { readonly kind: Kind; readonly path: string }) {
  const changed = useChanged()
  const go = useGo()
  const [to, setTo] = useState('')
  const [status, setStatus] = useState('')
  const [error, setError] = useState<unknown>()
  const start = useAction(async () => {
    const prefix = kind === 'secrets' ? '' : 'auth/'
    const target = `${to.trim().replace(/\/$/, '')}/`
    try {
      setError(undefined)
      const { data } = await move({ body: { from: `${prefix}${path}`, to: `${prefix}${target}` } })
      for (let state = 'in-progress'; state === 'in-progress'; ) {
        setStatus(text.moving)
        state = (await moveStatus({ params: data })).data.migration_info.status
        if (state === 'failure') throw new Error(text.moveFailed)
        if (state === 'in-progress') await new Promise((resolve) => setTimeout(resolve, pollMs))
      }
      await changed()
      go({ view: 'system', parts: [kind, target] }, { replace: true })
    } catch (failure) {
      setStatus('')
      setError(failure)
    }
  })
  return (
    <section className="panel" aria-labelledby="move">
      <h2 id="move">{text.move}</h2>
      <p className="hint">{text.moveHint}</p>
      <form className="filters" onSubmit={(event) => void start(event)}>
        <Field label={text.newPath} isRequired mono value={to} onChange={setTo} />
        <div className="actions">
          <Button type="submit">{text.move}</Button>
          <span role="status">{status}</span>
        </div>
      </form>
      <Failure error={error} />
    </section>
  )
}
