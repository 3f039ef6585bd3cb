import { useQuery } from '@tanstack/react-query'
import { loginKeys } from '../../api/logins.ts'
import { Failure } from '../../components/failure.tsx'
import { Time } from '../../components/time.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'

const text = strings.logins.keys

type Source = Awaited<ReturnType<typeof loginKeys>>['data']['sources'][number]
type Key = Source['keys'][number]

/** The keys of each source since they are known, with alerts and fetches. docs/contract/key-sources.md */
export function KeyTimeline({ mount }: { readonly mount: string }) {
  const path = `auth/${mount}/keys`
  const { can } = useCapabilities([path])
  const { data, error } = useQuery({
    queryKey: ['login-keys', mount],
    queryFn: ({ signal }) => loginKeys({ params: { jwt_mount_path: mount } }, { signal }),
    enabled: can(path, 'read'),
  })
  if (!can(path, 'read')) return null
  const { sources = [], allowed_key_thumbprints: pins = [] } = data?.data ?? {}
  return (
    <section className="panel" aria-labelledby="timeline">
      <h2 id="timeline">{text.title}</h2>
      <p className="hint">{pins.length === 0 ? text.notPinned : text.pinned(pins.length)}</p>
      <Failure error={error} />
      {sources.map((source) => (
        <OneSource key={`${source.kind} ${source.url}`} source={source} />
      ))}
    </section>
  )
}

const OneSource = ({ source: { kind, url, keys, fetches, alerts } }: { readonly source: Source }) => (
  <article className="source stack">
    <h3>
      {kind} <span className="mono">{url}</span>
    </h3>
    {alerts.map(({ time, kind: what, text: said }) => (
      <p key={time + what} className="finding">
        <Time at={time} />: {said}
      </p>
    ))}
    {keys.length === 0 && <p>{text.none}</p>}
    <ul className="stack" aria-label={text.keys}>
      {keys.map((key) => (
        <li key={key.thumbprint}>
          <OneKey signer={key} />
        </li>
      ))}
    </ul>
    {fetches.length > 0 && (
      <details>
        <summary>{text.fetches(fetches.length)}</summary>
        <ul>
          {fetches.map(({ time, of, ok, milliseconds, error }) => (
            <li key={time + of} className={ok ? 'hint' : 'finding'}>
              <Time at={time} /> {text.fetched(of, milliseconds)} {error}
            </li>
          ))}
        </ul>
      </details>
    )}
  </article>
)

function OneKey({ signer }: { readonly signer: Key }) {
  const { thumbprint, kid, type, algorithms, size, current, allowed } = signer
  return (
    <>
      <p>
        <strong>{current ? text.current : text.gone}</strong>{' '}
        {!allowed && <span className="finding">{text.notAllowed}</span>} {type} {size} {algorithms.join(', ')}
      </p>
      <p>
        <code>{thumbprint}</code>
        {kid !== '' && (
          <>
            {' '}
            <span className="hint">kid</span> <code>{kid}</code>
          </>
        )}
      </p>
      <p className="hint">
        {text.firstSeen} <Time at={signer.first_seen} />
        {signer.gone_since !== null && (
          <>
            , {text.goneSince} <Time at={signer.gone_since} />
          </>
        )}
        {signer.last_login !== null && (
          <>
            , {text.lastLogin} <Time at={signer.last_login} />
          </>
        )}
      </p>
    </>
  )
}
