import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Time } from '../../components/time.tsx'
import { strings } from '../../strings.ts'
import { PodConfigEditor } from './editor/config-editor.tsx'
import { KeyTimeline } from './key-timeline.tsx'
import { LoginMemory } from './login-memory.tsx'
import { podStatus } from './pod-calls.ts'
import { Config, StatusOrForm } from './status.tsx'

const text = strings.logins.pods

export const PodStatus = ({ mount }: { readonly mount: string }) => (
  <StatusOrForm mount={mount} State={ClusterStatus} Form={PodConfigEditor} />
)

/** The cluster, whose token asks it, and how its last review ended. */
function ClusterStatus({ mount }: { readonly mount: string }) {
  const params = { kubernetes_mount_path: mount }
  const client = useQueryClient()
  const key = ['pod-status', mount]
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => podStatus({ params }, { signal }),
  })
  const asking = useMutation({
    mutationFn: () => podStatus({ params, query: { refresh: 'true' } }),
    onSuccess: (fresh) => client.setQueryData(key, fresh),
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const { ok, verification, host, reviewer, ca, problems, last_review: review, keys } = data.data
  return (
    <div className="beside">
      <section className="panel" aria-labelledby="cluster">
        <h2 id="cluster" className={ok ? 'verdict pass' : 'verdict fail'}>
          {ok ? text.ok : text.notOk}
        </h2>
        {review != null && (
          <p className={review.ok ? '' : 'finding'}>
            {text.lastReview} <Time at={review.time} />:{' '}
            {review.ok ? (
              text.answered
            ) : (
              <>
                <code>{review.reason}</code> {review.text}
              </>
            )}
          </p>
        )}
        {problems.map((problem) => (
          <p key={problem} className="finding">
            {problem}
          </p>
        ))}
        <dl className="facts">
          <dt>{text.host}</dt>
          <dd className="mono">{host}</dd>
          <dt>{text.verification}</dt>
          <dd>{verification}</dd>
          <dt>{text.reviewer}</dt>
          <dd>{reviewer}</dd>
          <dt>{text.authority}</dt>
          <dd>{ca}</dd>
          {keys.length > 0 && (
            <>
              <dt>{text.keys}</dt>
              <dd className="mono">{keys.join(', ')}</dd>
            </>
          )}
        </dl>
        <div className="actions">
          <Button onPress={() => asking.mutate()}>{text.askNow}</Button>
        </div>
        <Failure error={asking.error} />
      </section>
      <div className="stack">
        <Config mount={mount} />
        <LoginMemory mount={mount} />
      </div>
      <KeyTimeline mount={mount} />
    </div>
  )
}
