import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { Secret } from '../../components/secret.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { AccessToken } from './access-token.tsx'
import {
  deleteStaticRole,
  readStaticPassword,
  readStaticRole,
  rotateStaticRole,
  type StaticRoleFacts,
  staticToken,
} from './calls.ts'
import { useStaticRole } from './use-static-role.ts'

const text = strings.cloud

type Props = { readonly mount: string; readonly name: string }

/** One static role: its password, when it is rotated next, and what went wrong. */
export function StaticRole({ mount, name }: Props) {
  const client = useQueryClient()
  const go = useGo()
  const paths = {
    role: `${mount}/static-roles/${name}`,
    password: `${mount}/static-creds/${name}`,
    token: `${mount}/static-creds/${name}/token`,
    rotate: `${mount}/rotate-role/${name}`,
  }
  const { can } = useCapabilities(Object.values(paths))
  const params = { cloud_mount_path: mount, name }
  const { data, error } = useStaticRole(mount, name)
  const changed = () => client.invalidateQueries({ queryKey: ['static-role', mount, name] })
  return (
    <>
      <p>
        <PlaceLink view="cloud" parts={[mount, 'static']}>
          {text.allStaticRoles(mount)}
        </PlaceLink>
      </p>
      <ViewHeader
        title={name}
        requests={[
          ...(can(paths.password, 'read') ? [readStaticPassword.request({ params })] : []),
          ...(can(paths.role, 'read') ? [readStaticRole.request({ params })] : []),
        ]}
      >
        {can(paths.rotate, 'update') && (
          <Confirm
            label={text.rotateNow}
            question={text.rotateRoleQuestion(name)}
            action={text.rotateNow}
            onConfirmed={async () => {
              await rotateStaticRole({ params })
              await changed()
            }}
          >
            <p>{text.rotateRoleHint}</p>
          </Confirm>
        )}
        {can(paths.role, 'delete') && data !== null && (
          <Confirm
            label={text.delete}
            question={text.deleteRoleQuestion(name)}
            action={text.delete}
            onConfirmed={async () => {
              await deleteStaticRole({ params })
              await client.invalidateQueries({ queryKey: ['static-roles', mount] })
              go({ view: 'cloud', parts: [mount, 'static'] }, { replace: true })
              await client.resetQueries({ queryKey: ['static-role', mount, name] })
            }}
          >
            <p>{text.deleteStaticRoleHint}</p>
          </Confirm>
        )}
      </ViewHeader>
      <Failure error={error} />
      {data === null ? (
        <EmptyState title={text.noRole} />
      ) : (
        <>
          {can(paths.password, 'read') && <Password mount={mount} name={name} />}
          {can(paths.token, 'update') && (
            <AccessToken
              request={(scope) => staticToken({ params, body: { scope } })}
              scopes={data?.allowed_scopes ?? []}
            />
          )}
          {data !== undefined && <Facts role={data} />}
        </>
      )}
    </>
  )
}

/** The password that is current now. Read when somebody asks, and never kept by the cache. */
function Password({ mount, name }: Props) {
  const reading = useMutation({
    mutationFn: async () => (await readStaticPassword({ params: { cloud_mount_path: mount, name } })).data,
    gcTime: 0,
  })
  const password = reading.data
  return (
    <section className="panel" aria-labelledby="password">
      <h2 id="password">{text.password}</h2>
      <p className="hint">{text.passwordHint}</p>
      <div className="actions">
        <Button kind="primary" onPress={() => reading.mutate()}>
          {text.readPassword}
        </Button>
      </div>
      <Failure error={reading.error} />
      <div role="status">
        {password !== undefined && (
          <dl className="facts">
            <dt>{text.clientId}</dt>
            <dd className="mono">{password.client_id}</dd>
            <dt>{text.clientSecret}</dt>
            <dd>
              <Secret value={password.client_secret} label={text.clientSecret} />
            </dd>
            <dt>{text.keyId}</dt>
            <dd className="mono">{password.secret_id}</dd>
            <dt>{text.ends}</dt>
            <dd>
              <Time at={password.expiration} />
            </dd>
            {password.previous_expiration !== undefined && (
              <>
                <dt>{text.formerEnds}</dt>
                <dd>
                  <Time at={password.previous_expiration} />
                </dd>
              </>
            )}
          </dl>
        )}
      </div>
    </section>
  )
}

function Facts({ role }: { readonly role: StaticRoleFacts }) {
  const { last_vault_rotation: last, next_vault_rotation: next, last_error: error, ...others } = role
  return (
    <section className="panel" aria-labelledby="rotation">
      <h2 id="rotation">{text.rotation}</h2>
      {error !== '' && <p className="failure">{error}</p>}
      <dl className="facts">
        <dt>{text.nextRotation}</dt>
        <dd>{next === '' ? text.never : <Time at={next} />}</dd>
        <dt>{text.lastRotation}</dt>
        <dd>{last === '' ? text.never : <Time at={last} />}</dd>
      </dl>
      <Fields values={others} />
    </section>
  )
}
