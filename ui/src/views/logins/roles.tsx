import { useQuery } from '@tanstack/react-query'
import { keysOf } from '../../api/errors.ts'
import { type Finding, lintFindings, loginRole, loginRoles } from '../../api/logins.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { AsToken } from './as-token.tsx'

const text = strings.logins

/** The roles of a mount, with what the linter says of them. */
export function Roles({ mount }: { readonly mount: string }) {
  const { parts } = usePlace()
  const params = { jwt_mount_path: mount }
  const path = `auth/${mount}/lint`
  const { can } = useCapabilities([path])
  const roles = useQuery({
    queryKey: ['login-roles', mount],
    queryFn: ({ signal }) => keysOf(loginRoles({ params }, { signal })),
  })
  const lint = useQuery({
    queryKey: ['login-lint', mount],
    queryFn: ({ signal }) => lintFindings({ params }, { signal }),
    enabled: can(path, 'read'),
  })
  if (roles.error !== null) return <Failure error={roles.error} />
  if (roles.data === undefined) return null
  const findings = lint.data?.data.findings ?? []
  const picked = parts[2]
  if (roles.data.length === 0) return <EmptyState title={text.noRoles}>{text.noRolesNext}</EmptyState>
  return (
    <div className={picked === undefined ? 'stack' : 'beside'}>
      <Table
        name="login-roles"
        label={text.tabs.roles}
        columns={columnsOf(mount, findings)}
        rows={roles.data}
        keyOf={(name) => name}
      />
      {picked !== undefined && (
        <Role mount={mount} name={picked} findings={findings.filter(({ role }) => role === picked)} />
      )}
    </div>
  )
}

const columnsOf = (mount: string, findings: readonly Finding[]): readonly Column<string>[] => [
  {
    id: 'name',
    title: text.role,
    cell: (name) => (
      <PlaceLink view="logins" parts={[mount, 'roles', name]}>
        {name}
      </PlaceLink>
    ),
  },
  {
    id: 'findings',
    title: text.findings,
    cell: (name) =>
      findings
        .filter(({ role }) => role === name)
        .map(({ code }) => code)
        .join(', '),
  },
]

function Role({
  mount,
  name,
  findings,
}: {
  readonly mount: string
  readonly name: string
  readonly findings: readonly Finding[]
}) {
  const { data, error } = useQuery({
    queryKey: ['login-role', mount, name],
    queryFn: ({ signal }) => loginRole({ params: { jwt_mount_path: mount, name } }, { signal }),
  })
  return (
    <section className="panel" aria-label={name}>
      <h2>{name}</h2>
      <Failure error={error} />
      {data !== undefined && <Fields values={data.data} findings={findings} />}
      {data?.data['role_type'] === 'jwt' && <AsToken mount={mount} role={name} />}
      <PlaceLink view="logins" parts={[mount, 'explain']} search={{ role: name }}>
        {text.tryRole}
      </PlaceLink>
      <ObjectHistory key={name} path={`auth/${mount}/role/${name}`} />
    </section>
  )
}
