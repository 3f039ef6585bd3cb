import { useQuery, useQueryClient } from '@tanstack/react-query'
import * as v from 'valibot'
import { dataOrNull } from '../../api/errors.ts'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { AccessToken } from './access-token.tsx'
import { deleteRole, getCredentials, readRole, roleToken } from './calls.ts'
import { GetCredentials, readyQuery } from './get-credentials.tsx'

const text = strings.cloud

type Props = { readonly mount: string; readonly name: string }

/** One role: its credentials for those who may get them, and what they may do. */
export function Role({ mount, name }: Props) {
  const [role, creds, token] = [`${mount}/roles/${name}`, `${mount}/creds/${name}`, `${mount}/token/${name}`]
  const { can, isKnown } = useCapabilities([role, creds, token])
  const params = { cloud_mount_path: mount, name }
  const { data, error } = useQuery({
    queryKey: ['cloud-role', mount, name],
    queryFn: ({ signal }) => dataOrNull(readRole({ params }, { signal })),
    enabled: can(role, 'read'),
  })
  if (!isKnown) return null
  const mayEdit = can(role, data === null ? 'create' : 'update')
  return (
    <>
      <p>
        <PlaceLink view="cloud" parts={[mount, 'roles']}>
          {text.allRoles(mount)}
        </PlaceLink>
      </p>
      <ViewHeader
        title={name}
        requests={[
          ...(can(creds, 'read') ? [getCredentials.request({ params, query: readyQuery })] : []),
          ...(can(role, 'read') ? [readRole.request({ params })] : []),
        ]}
      >
        {mayEdit && (data !== undefined || !can(role, 'read')) && (
          <PlaceLink view="cloud" parts={[mount, 'roles', name, 'edit']} className="button plain">
            {data === null ? text.create : text.edit}
          </PlaceLink>
        )}
        {can(role, 'delete') && data !== null && <DeleteRole mount={mount} name={name} />}
      </ViewHeader>
      <Failure error={error} />
      {data === null ? (
        <EmptyState title={text.noRole} />
      ) : (
        <>
          {can(creds, 'read') && <GetCredentials mount={mount} name={name} />}
          {can(token, 'update') && isFederated(data) && (
            <AccessToken
              request={(scope) => roleToken({ params, body: { scope } })}
              scopes={v.parse(scopes, data?.['allowed_scopes'])}
            />
          )}
          {data !== undefined && <Grants role={data} />}
          <ObjectHistory key={name} path={role} />
        </>
      )}
    </>
  )
}

function DeleteRole({ mount, name }: Props) {
  const client = useQueryClient()
  const go = useGo()
  return (
    <Confirm
      label={text.delete}
      question={text.deleteRoleQuestion(name)}
      action={text.delete}
      onConfirmed={async () => {
        await deleteRole({ params: { cloud_mount_path: mount, name } })
        for (const key of ['cloud-roles', 'cloud-role']) await client.invalidateQueries({ queryKey: [key] })
        go({ view: 'cloud', parts: [mount, 'roles'] }, { replace: true })
      }}
    >
      <p>{text.deleteRoleHint}</p>
    </Confirm>
  )
}

const scopes = v.fallback(v.array(v.string()), [])

/** Somebody who may not read the role may try. */
const isFederated = (role: Readonly<Record<string, unknown>> | undefined): boolean =>
  role === undefined || role['credential_type'] === 'federated'

const assigned = v.fallback(v.array(v.object({ role_name: v.string(), scope: v.string() })), [])
const joined = v.fallback(v.array(v.object({ group_name: v.string(), object_id: v.string() })), [])

/** What credentials of the role may do, then its other settings. */
function Grants({ role }: { readonly role: Readonly<Record<string, unknown>> }) {
  const { cloud_roles, azure_roles, cloud_groups, azure_groups, ...others } = role
  const roles = v.parse(assigned, cloud_roles ?? azure_roles)
  const groups = v.parse(joined, cloud_groups ?? azure_groups)
  return (
    <section className="panel" aria-labelledby="grants">
      <h2 id="grants">{text.grants}</h2>
      {roles.length + groups.length > 0 && (
        <ul className="stack">
          {roles.map(({ role_name: granted, scope }) => (
            <li key={granted + scope}>
              <strong>{granted}</strong> {text.at} <code>{scope}</code>
            </li>
          ))}
          {groups.map(({ group_name: group, object_id: id }) => (
            <li key={id}>
              {text.memberOf} <strong>{group}</strong>
            </li>
          ))}
        </ul>
      )}
      <Fields values={others} />
    </section>
  )
}
