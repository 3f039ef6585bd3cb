import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { sealStatus } from '../../api/server.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Time } from '../../components/time.tsx'
import { useAction } from '../../components/use-action.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { session } from '../../session/session.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { health, keyStatus, rotate, seal } from './calls.ts'

const text = strings.system

/** Health, version, seal and key of the server. */
export function Server() {
  const client = useQueryClient()
  const { can } = useCapabilities(['sys/rotate', 'sys/seal'])
  const [failure, setFailure] = useState<unknown>()
  const { data, error } = useQuery({
    queryKey: ['server'],
    queryFn: async ({ signal }) => {
      const [state, status, key] = await Promise.all([
        health({}, { signal }),
        sealStatus({}, { signal }),
        keyStatus({}, { signal }),
      ])
      return { state, status, key: key.data }
    },
  })
  const rotateNow = useAction(async () => {
    try {
      await rotate({})
      setFailure(undefined)
      await client.invalidateQueries({ queryKey: ['server'] })
    } catch (refusal) {
      setFailure(refusal)
    }
  })
  const may = (path: string) => can(path, 'update') && can(path, 'sudo')
  return (
    <>
      <ViewHeader
        title={text.tabs.server}
        requests={[health.request({}), sealStatus.request({}), keyStatus.request({})]}
      >
        {may('sys/rotate') && <Button onPress={() => void rotateNow()}>{text.rotate}</Button>}
        {may('sys/seal') && (
          <Confirm
            label={text.seal}
            question={text.sealQuestion}
            action={text.seal}
            onConfirmed={async () => {
              await seal({})
              session.end('ended')
              location.reload()
            }}
          >
            <p>{text.sealHint}</p>
          </Confirm>
        )}
      </ViewHeader>
      <Failure error={error ?? failure} />
      {data !== undefined && (
        <section className="panel">
          <dl className="facts">
            <dt>{text.version}</dt>
            <dd>
              {data.state.gatehouse_version ?? '–'} ({text.reported} {data.state.version})
            </dd>
            <dt>{text.cluster}</dt>
            <dd>{data.state.cluster_name ?? '–'}</dd>
            <dt>{text.sealType}</dt>
            <dd>
              {data.status.type}
              {data.status.n > 1 && `, ${text.sharesOf(data.status.t, data.status.n)}`}
            </dd>
            <dt>{text.keyTerm}</dt>
            <dd>{data.key.term}</dd>
            <dt>{text.keySince}</dt>
            <dd>
              <Time at={data.key.install_time} />
            </dd>
            <dt>{text.encryptions}</dt>
            <dd>{data.key.encryptions.toLocaleString()}</dd>
          </dl>
        </section>
      )}
    </>
  )
}
