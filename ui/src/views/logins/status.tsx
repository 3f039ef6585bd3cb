import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ComponentType } from 'react'
import { dataOrNull } from '../../api/errors.ts'
import { loginConfig, loginStatus } from '../../api/logins.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { Time } from '../../components/time.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { ConfigEditor } from './editor/config-editor.tsx'
import { KeyTimeline } from './key-timeline.tsx'
import { LoginMemory } from './login-memory.tsx'

const text = strings.logins

type Mount = { readonly mount: string }

/** The state of a mount, or the form of its configuration. */
export function StatusOrForm({ mount, State, Form }: Mount & StatusParts) {
  const { search } = usePlace()
  const go = useGo()
  if (search['form'] !== 'edit') return <State mount={mount} />
  return <Form mount={mount} onDone={() => go({ view: 'logins', parts: [mount, 'status'] })} />
}

type StatusParts = {
  readonly State: ComponentType<Mount>
  readonly Form: ComponentType<Mount & { readonly onDone: () => void }>
}

export const Status = ({ mount }: Mount) => (
  <StatusOrForm mount={mount} State={KeyStatus} Form={ConfigEditor} />
)

/** Where the keys come from, and whether they could be fetched. */
function KeyStatus({ mount }: Mount) {
  const params = { jwt_mount_path: mount }
  const client = useQueryClient()
  const key = ['login-status', mount]
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => loginStatus({ params }, { signal }),
  })
  const fetching = useMutation({
    mutationFn: () => loginStatus({ params, query: { refresh: 'true' } }),
    onSuccess: (fresh) => {
      client.setQueryData(key, fresh)
      return client.invalidateQueries({ queryKey: ['login-keys', mount] })
    },
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const status = data.data
  const verdict = verdictOf(status)
  return (
    <div className="beside">
      <div className="stack">
        <section className="panel" aria-labelledby="keys">
          <h2 id="keys" className={verdictClass[verdict]}>
            {text.keyVerdicts[verdict]}
          </h2>
          {text.keyVerdictHints[verdict] !== '' && <p>{text.keyVerdictHints[verdict]}</p>}
          {status.last_refused_config != null && (
            <p className="note">
              {text.refusedConfig} <Time at={status.last_refused_config.time} />:{' '}
              {status.last_refused_config.text}
            </p>
          )}
          {status.sources.map((source) => (
            <Source key={`${source.kind} ${source.url}`} source={source} />
          ))}
          <dl className="facts">
            <dt>{text.pending}</dt>
            <dd>{status.pending_logins}</dd>
            <dt>{text.lastLogin}</dt>
            <dd>{status.last_login_at === null ? text.never : <Time at={status.last_login_at} />}</dd>
            <dt>{text.lastRefusal}</dt>
            <dd>{status.last_refusal_at === null ? text.never : <Time at={status.last_refusal_at} />}</dd>
          </dl>
          <div className="actions">
            <Button onPress={() => fetching.mutate()}>{text.fetchNow}</Button>
          </div>
          <Failure error={fetching.error} />
        </section>
        <KeyTimeline mount={mount} />
      </div>
      <div className="stack">
        <Config mount={mount} />
        <LoginMemory mount={mount} />
      </div>
    </div>
  )
}

type MountStatus = Awaited<ReturnType<typeof loginStatus>>['data']

/** Keys are fetched when the first login needs them. */
function verdictOf({ ok, type, sources }: MountStatus): keyof typeof text.keyVerdicts {
  if (ok) return 'ok'
  if (type === 'none') return 'unconfigured'
  const isUntried = sources.some((source) => source.fetched_at === null && source.last_error == null)
  return isUntried ? 'untried' : 'none'
}

const verdictClass = { ok: 'verdict pass', none: 'verdict fail', untried: '', unconfigured: '' } as const

type KeySource = MountStatus['sources'][number]

const Source = ({ source }: { readonly source: KeySource }) => (
  <article className="source">
    <h3>
      {source.kind} <span className="mono">{source.url}</span>
    </h3>
    {source.kids.length === 0 ? <p>{text.noKids}</p> : <code>{source.kids.join(', ')}</code>}
    {source.last_error != null && (
      <p className="finding">
        <Time at={source.last_error.time} />: {source.last_error.text}
      </p>
    )}
    {source.skipped_keys.map(({ kid, text: why }) => (
      <p key={kid + why} className="finding">
        <code>{kid}</code> {why}
      </p>
    ))}
    {source.fetched_at !== null && (
      <p className="hint">
        {text.fetched} <Time at={source.fetched_at} />
      </p>
    )}
  </article>
)

/** The stored configuration, without its secrets. */
export function Config({ mount }: Mount) {
  const path = `auth/${mount}/config`
  const { can } = useCapabilities([path])
  const { data, error } = useQuery({
    queryKey: ['login-config-or-none', mount],
    queryFn: ({ signal }) => dataOrNull(loginConfig({ params: { jwt_mount_path: mount } }, { signal })),
    enabled: can(path, 'read'),
  })
  if (!can(path, 'read')) return null
  return (
    <section className="panel" aria-labelledby="config">
      <h2 id="config">{text.config}</h2>
      {can(path, 'update') && data !== undefined && (
        <div className="actions">
          <PlaceLink view="logins" parts={[mount, 'status']} search={{ form: 'edit' }} className="button">
            {data === null ? text.configure : text.editRole}
          </PlaceLink>
        </div>
      )}
      <Failure error={error} />
      {data === null && <p>{text.notConfigured}</p>}
      {data != null && <Fields values={data} />}
      <ObjectHistory path={path} />
    </section>
  )
}
