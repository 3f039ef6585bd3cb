import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ComponentType } from 'react'
import { ApiError, keysOf } from '../../api/errors.ts'
import { type Finding, lintFindings, loginRole, loginRoles } from '../../api/logins.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { visible } from '../../components/visible.ts'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { AsToken } from './as-token.tsx'
import { deleteLoginRole } from './editor/calls.ts'
import { NewRole, RoleEditor } from './editor/role-editor.tsx'
import { GuardedDelete } from './guarded-delete.tsx'

const text = strings.logins

type Done = { readonly onSaved: () => void; readonly onCancel: () => void }

type Props = {
  readonly mount: string
  readonly New: ComponentType<{
    readonly mount: string
    readonly onSaved: (name: string) => void
    readonly onCancel: () => void
  }>
  readonly Edit: ComponentType<{ readonly mount: string; readonly name: string } & Done>
}

/** The roles of a mount of type `jwt` or `oidc`. */
export const JwtRoles = ({ mount }: { readonly mount: string }) => (
  <Roles mount={mount} New={NewRole} Edit={RoleEditor} />
)

/** The roles of a mount, or the form of one. */
export function Roles({ mount, New, Edit }: Props) {
  const { parts, search } = usePlace()
  const go = useGo()
  const open = (name?: string) =>
    go({ view: 'logins', parts: [mount, 'roles', ...(name === undefined ? [] : [name])] })
  const [, , picked] = parts
  if (search['form'] === 'new') return <New mount={mount} onSaved={open} onCancel={open} />
  if (search['form'] !== 'edit' || picked === undefined) return <ListedRoles mount={mount} />
  const back = () => open(picked)
  return <Edit key={picked} mount={mount} name={picked} onSaved={back} onCancel={back} />
}

function NewRoleLink({ mount }: { readonly mount: string }) {
  const path = `auth/${mount}/role/x`
  const { can } = useCapabilities([path])
  return can(path, 'create') ? (
    <div className="actions">
      <PlaceLink view="logins" parts={[mount, 'roles']} search={{ form: 'new' }} className="button">
        {text.newRole}
      </PlaceLink>
    </div>
  ) : null
}

/** The roles of a mount, with what the linter says of them. */
function ListedRoles({ mount }: { readonly mount: string }) {
  const { parts, search } = usePlace()
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
  return (
    <div className={picked === undefined ? 'stack' : 'beside'}>
      <div className="stack">
        <NewRoleLink mount={mount} />
        {roles.data.length === 0 ? (
          <EmptyState title={text.noRoles}>{text.noRolesNext}</EmptyState>
        ) : (
          <Table
            name="login-roles"
            label={text.tabs.roles}
            columns={columnsOf(mount, findings, search)}
            rows={roles.data}
            keyOf={(name) => name}
          />
        )}
      </div>
      {picked !== undefined && (
        <Role mount={mount} name={picked} findings={findings.filter(({ role }) => role === picked)} />
      )}
    </div>
  )
}

const columnsOf = (
  mount: string,
  findings: readonly Finding[],
  search: Readonly<Record<string, string | undefined>>,
): readonly Column<string>[] => [
  {
    id: 'name',
    title: text.role,
    by: (name) => name,
    cell: (name) => (
      <PlaceLink view="logins" parts={[mount, 'roles', name]} search={search}>
        {name}
      </PlaceLink>
    ),
  },
  {
    id: 'findings',
    title: text.findings,
    by: (name) => -findings.filter(({ role }) => role === name).length,
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
  // its history says who deleted it, and brings it back
  const isGone = error instanceof ApiError && error.status === 404
  return (
    <section className="panel" aria-label={name}>
      <h2>{visible(name)}</h2>
      {isGone ? <p>{text.noRole}</p> : <RoleActions mount={mount} name={name} />}
      {!isGone && <Failure error={error} />}
      {data !== undefined && <Fields values={data.data} findings={findings} />}
      {data?.data['role_type'] === 'jwt' && <AsToken mount={mount} role={name} />}
      {!isGone && (
        <PlaceLink view="logins" parts={[mount, 'explain']} search={{ role: name }}>
          {text.tryRole}
        </PlaceLink>
      )}
      <ObjectHistory key={name} path={`auth/${mount}/role/${name}`} isGuarded />
    </section>
  )
}

function RoleActions({ mount, name }: { readonly mount: string; readonly name: string }) {
  const client = useQueryClient()
  const go = useGo()
  const path = `auth/${mount}/role/${name}`
  const { can } = useCapabilities([path])
  return (
    <div className="actions">
      {can(path, 'update') && (
        <PlaceLink view="logins" parts={[mount, 'roles', name]} search={{ form: 'edit' }} className="button">
          {text.editRole}
        </PlaceLink>
      )}
      {can(path, 'delete') && (
        <GuardedDelete
          question={text.deleteRoleQuestion(name)}
          onConfirmed={async (query) => {
            await deleteLoginRole({ params: { jwt_mount_path: mount, name }, query })
            for (const queryKey of [
              ['login-roles', mount],
              ['history', path],
            ])
              await client.invalidateQueries({ queryKey })
            go({ view: 'logins', parts: [mount, 'roles'] })
            await client.resetQueries({ queryKey: ['login-role', mount, name] })
          }}
        >
          <p>{text.deleteRoleHint}</p>
        </GuardedDelete>
      )}
    </div>
  )
}
