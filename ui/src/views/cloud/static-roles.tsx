import { useQuery } from '@tanstack/react-query'
import { keysOf } from '../../api/errors.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { listStaticRoles } from './calls.ts'
import { useNamedRoles } from './named-roles.ts'
import { StaticRole } from './static-role.tsx'
import { useStaticRole } from './use-static-role.ts'

const text = strings.cloud

type Mount = { readonly mount: string }

/** Roles whose password is one for all and is rotated. */
export function StaticRoles({ mount }: Mount) {
  const { parts } = usePlace()
  const [, , name] = parts
  return name === undefined ? (
    <StaticRoleList mount={mount} />
  ) : (
    <StaticRole key={name} mount={mount} name={name} />
  )
}

function StaticRoleList({ mount }: Mount) {
  const path = `${mount}/static-roles`
  const { can, isKnown } = useCapabilities([path])
  const mayList = can(path, 'list')
  const named = useNamedRoles(`${mount}/static-creds/`)
  const params = { cloud_mount_path: mount }
  const { data, error } = useQuery({
    queryKey: ['static-roles', mount],
    queryFn: ({ signal }) => keysOf(listStaticRoles({ params }, { signal })),
    enabled: mayList,
  })
  const roles = mayList ? data : isKnown ? named : undefined
  return (
    <>
      <ViewHeader
        title={text.aspects.static}
        requests={mayList ? [listStaticRoles.request({ params })] : []}
      />
      <Failure error={error} />
      {roles?.length === 0 && (
        <EmptyState title={text.noStaticRoles}>
          <p>{text.noStaticRolesNext(mount)}</p>
        </EmptyState>
      )}
      {roles !== undefined && roles.length > 0 && (
        <Table
          name="static-roles"
          label={text.aspects.static}
          columns={columnsOf(mount)}
          rows={roles}
          keyOf={(name) => name}
        />
      )}
    </>
  )
}

const columnsOf = (mount: string): readonly Column<string>[] => [
  {
    id: 'name',
    title: text.role,
    by: (name) => name,
    cell: (name) => (
      <PlaceLink view="cloud" parts={[mount, 'static', name]}>
        {name}
      </PlaceLink>
    ),
  },
  {
    id: 'next',
    title: text.nextRotation,
    width: '13rem',
    cell: (name) => <NextRotation mount={mount} name={name} />,
  },
  {
    id: 'error',
    title: text.lastError,
    width: '2fr',
    wraps: true,
    cell: (name) => <LastError mount={mount} name={name} />,
  },
]

type Row = Mount & { readonly name: string }

/** Read only for the rows in sight. */
function NextRotation({ mount, name }: Row) {
  const { data } = useStaticRole(mount, name)
  if (data === undefined || data === null) return ''
  return data.next_vault_rotation === '' ? text.never : <Time at={data.next_vault_rotation} />
}

function LastError({ mount, name }: Row) {
  const { data } = useStaticRole(mount, name)
  return data?.last_error ?? ''
}
