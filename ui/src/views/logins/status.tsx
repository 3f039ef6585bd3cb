import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { loginConfig, loginStatus } from '../../api/logins.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { Time } from '../../components/time.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'

const text = strings.logins

type Mount = { readonly mount: string }

/** Where the keys come from, and whether they could be fetched. */
export function Status({ mount }: Mount) {
  const params = { jwt_mount_path: mount }
  const client = useQueryClient()
  const key = ['login-status', mount]
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => loginStatus({ params }, { signal }),
  })
  const fetching = useMutation({
    mutationFn: () => loginStatus({ params, query: { refresh: 'true' } }),
    onSuccess: (fresh) => client.setQueryData(key, fresh),
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const status = data.data
  return (
    <div className="beside">
      <section className="panel" aria-labelledby="keys">
        <h2 id="keys" className={status.ok ? 'verdict pass' : 'verdict fail'}>
          {status.ok ? text.ok : text.notOk}
        </h2>
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
      <Config mount={mount} />
    </div>
  )
}

type KeySource = Awaited<ReturnType<typeof loginStatus>>['data']['sources'][number]

const Source = ({ source }: { readonly source: KeySource }) => (
  <article className="source">
    <h3>
      {source.kind} <span className="mono">{source.url}</span>
    </h3>
    <p>{source.kids.length === 0 ? text.noKids : source.kids.join(', ')}</p>
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
    queryKey: ['login-config', mount],
    queryFn: ({ signal }) => loginConfig({ params: { jwt_mount_path: mount } }, { signal }),
    enabled: can(path, 'read'),
  })
  if (!can(path, 'read')) return null
  return (
    <section className="panel" aria-labelledby="config">
      <h2 id="config">{text.config}</h2>
      <Failure error={error} />
      {data !== undefined && <Fields values={data.data} />}
      <ObjectHistory path={path} />
    </section>
  )
}
