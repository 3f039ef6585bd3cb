import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Command } from '../../components/copy-as.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { checkConfig, readConfig, readIdentity, rotateRoot } from './calls.ts'
import { ConfigEditor } from './config-editor.tsx'
import { SignIn } from './sign-in.tsx'

const text = strings.cloud

type Mount = { readonly mount: string }

/** What the mount signs in with, and whether that has the rights it needs. */
export function RootCredential({ mount }: Mount) {
  const paths = {
    config: `${mount}/config`,
    check: `${mount}/config/check`,
    rotate: `${mount}/rotate-root`,
    identity: `${mount}/config/identity`,
  }
  const { can } = useCapabilities(Object.values(paths))
  const client = useQueryClient()
  const [isRotated, setRotated] = useState(false)
  const params = { cloud_mount_path: mount }
  return (
    <>
      <ViewHeader
        title={text.aspects.config}
        requests={[readConfig, readIdentity, checkConfig].map((call) => call.request({ params }))}
      >
        {can(paths.rotate, 'update') && (
          <Confirm
            label={text.rotate}
            question={text.rotateQuestion(mount)}
            action={text.rotate}
            onConfirmed={async () => {
              await rotateRoot({ params })
              setRotated(true)
              await client.invalidateQueries({ queryKey: ['cloud-config', mount] })
            }}
          >
            <p>{text.rotateHint}</p>
          </Confirm>
        )}
      </ViewHeader>
      <p role="status" className={isRotated ? 'note' : 'hidden'}>
        {isRotated && text.rotated}
      </p>
      <div className="beside">
        {can(paths.check, 'read') && <Checks mount={mount} />}
        <div className="stack">
          {can(paths.identity, 'read') && <SignIn mount={mount} />}
          {can(paths.config, 'read') && <Config mount={mount} mayWrite={can(paths.config, 'update')} />}
        </div>
      </div>
    </>
  )
}

function Checks({ mount }: Mount) {
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['cloud-check', mount],
    queryFn: async ({ signal }) =>
      (await checkConfig({ params: { cloud_mount_path: mount } }, { signal })).data,
    // it signs in to the cloud: not each time that the window gets the focus
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <section className="panel" aria-labelledby="checks">
      <h2 id="checks" className={data === undefined ? '' : data.ok ? 'verdict pass' : 'verdict fail'}>
        {data === undefined ? text.check : data.ok ? text.checkOk : text.checkNotOk}
      </h2>
      <Failure error={error} />
      <ul className="stack" aria-busy={isFetching}>
        {data?.checks.map(({ name, ok, detail, fix }) => (
          <li key={name}>
            <h3 className={ok ? 'verdict pass' : 'verdict fail'}>
              <span className="hidden">{ok ? text.passed : text.failed}: </span>
              {text.checks[name] ?? name}
            </h3>
            <p className={ok ? 'hint' : ''}>{detail}</p>
            {fix !== '' && (
              <>
                <p>{text.fix}</p>
                <Command name="" text={fix} />
              </>
            )}
          </li>
        ))}
      </ul>
      <div className="actions">
        <Button onPress={() => void refetch()}>{isFetching ? text.checking : text.checkAgain}</Button>
      </div>
    </section>
  )
}

function Config({ mount, mayWrite }: Mount & { readonly mayWrite: boolean }) {
  const [isEditing, setEditing] = useState(false)
  const { data, error } = useQuery({
    queryKey: ['cloud-config', mount],
    queryFn: async ({ signal }) =>
      (await readConfig({ params: { cloud_mount_path: mount } }, { signal })).data,
  })
  return (
    <section className="panel" aria-labelledby="config">
      <h2 id="config">{text.config}</h2>
      <Failure error={error} />
      {data !== undefined &&
        (isEditing ? (
          <ConfigEditor mount={mount} stored={data} onDone={() => setEditing(false)} />
        ) : (
          <>
            {(data['client_id'] ?? '') === '' && <p className="note">{text.notConfigured}</p>}
            <Fields values={data} />
            {mayWrite && (
              <div className="actions">
                <Button onPress={() => setEditing(true)}>{text.edit}</Button>
              </div>
            )}
          </>
        ))}
      <ObjectHistory path={`${mount}/config`} />
    </section>
  )
}
