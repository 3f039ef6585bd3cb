import { useQuery } from '@tanstack/react-query'
import { keysOf } from '../../api/errors.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { List } from '../../components/list.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useParameter, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { listRoles } from './calls.ts'
import type { CloudMount } from './cloud-mount.ts'
import { useNamedRoles } from './named-roles.ts'
import { OpenRole } from './open-role.tsx'
import { Role } from './role.tsx'
import { RoleEditor } from './role-editor.tsx'

const text = strings.cloud

/** The roles of a mount, or one of them. */
export function Roles({ mount }: { readonly mount: CloudMount }) {
  const { parts } = usePlace()
  const [, , name, action] = parts
  if (name === undefined) return <RoleList mount={mount.path} />
  if (action === 'edit') return <RoleEditor key={name} mount={mount} name={name} />
  return <Role key={name} mount={mount.path} name={name} />
}

function RoleList({ mount }: { readonly mount: string }) {
  const [filter, setFilter] = useParameter('filter')
  const path = `${mount}/roles`
  const { can, isKnown } = useCapabilities([path])
  const mayList = can(path, 'list')
  const named = useNamedRoles(`${mount}/creds/`)
  const params = { cloud_mount_path: mount }
  const { data, error } = useQuery({
    queryKey: ['cloud-roles', mount],
    queryFn: ({ signal }) => keysOf(listRoles({ params }, { signal })),
    enabled: mayList,
  })
  const roles = mayList ? data : isKnown ? named : undefined
  const shown = (roles ?? []).filter((name) => name.includes(filter))
  return (
    <>
      <ViewHeader
        title={strings.views['cloud'] ?? ''}
        requests={mayList ? [listRoles.request({ params })] : []}
      />
      <OpenRole mount={mount} />
      <Failure error={error} />
      {roles?.length === 0 && (
        <EmptyState title={mayList ? text.noRoles : text.mayNotList}>
          <p>{mayList ? text.noRolesNext(mount) : text.mayNotListNext}</p>
        </EmptyState>
      )}
      {roles !== undefined && roles.length > 0 && (
        <>
          <search>
            <Field label={text.filter} value={filter} onChange={setFilter} />
          </search>
          <List name="cloud-roles" label={text.aspects.roles} rows={shown} keyOf={(name) => name}>
            {(name) => (
              <PlaceLink view="cloud" parts={[mount, 'roles', name]}>
                {name}
              </PlaceLink>
            )}
          </List>
        </>
      )}
    </>
  )
}
