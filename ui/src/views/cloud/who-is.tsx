import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/errors.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { visible } from '../../components/visible.ts'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { whoIs } from './calls.ts'

const text = strings.cloud

type Mount = { readonly mount: string }

/** `#/cloud/<mount>/whois/<client id>`: who requested a credential. */
export function WhoIs({ mount }: Mount) {
  const { parts } = usePlace()
  const go = useGo()
  const asked = parts[2] ?? ''
  const [id, setId] = useState(asked)
  return (
    <>
      <ViewHeader
        title={text.whoIs}
        requests={[whoIs.request({ params: { cloud_mount_path: mount, client_id: asked || '<id>' } })]}
      />
      <form
        className="one-line"
        onSubmit={(event) => {
          event.preventDefault()
          go({ view: 'cloud', parts: [mount, 'whois', id.trim()] })
        }}
      >
        <Field label={text.clientId} hint={text.whoIsHint} isRequired mono value={id} onChange={setId} />
        <Button type="submit">{text.ask}</Button>
      </form>
      {asked !== '' && <Requester mount={mount} id={asked} />}
    </>
  )
}

function Requester({ mount, id }: Mount & { readonly id: string }) {
  const { data, error } = useQuery({
    queryKey: ['cloud-whois', mount, id],
    retry: false,
    queryFn: async ({ signal }) =>
      (await whoIs({ params: { cloud_mount_path: mount, client_id: id } }, { signal })).data,
  })
  if (error instanceof ApiError && error.status === 404)
    return <EmptyState title={text.nobody}>{text.nobodyNext}</EmptyState>
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  return (
    <section className="panel" aria-label={text.requester}>
      <dl className="facts">
        <dt>{text.requester}</dt>
        <dd>{visible(data.display_name)}</dd>
        {data.entity_id !== '' && (
          <>
            <dt>{text.entity}</dt>
            <dd>
              <PlaceLink view="access" parts={['entities', data.entity_id]} className="mono">
                {data.entity_id}
              </PlaceLink>
            </dd>
          </>
        )}
        <dt>{text.role}</dt>
        <dd>
          <PlaceLink view="cloud" parts={[mount, 'roles', data.role]}>
            {data.role}
          </PlaceLink>
        </dd>
        <dt>{text.lease}</dt>
        <dd>
          <PlaceLink view="leases" parts={[data.lease_id]} className="mono">
            {data.lease_id}
          </PlaceLink>
        </dd>
        <dt>{text.issuedAt}</dt>
        <dd>
          <Time at={data.issue_time} />
        </dd>
        <dt>{text.ends}</dt>
        <dd>
          <Time at={data.expire_time} />
        </dd>
      </dl>
    </section>
  )
}
