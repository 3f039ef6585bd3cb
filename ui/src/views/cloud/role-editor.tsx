import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOrNull } from '../../api/errors.ts'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { errorOfField, Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { typedDuration } from '../../components/time.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { readRole, writeAzureRole, writeRole } from './calls.ts'
import type { CloudMount } from './cloud-mount.ts'

const text = strings.cloud

type Props = { readonly mount: CloudMount; readonly name: string }

type Values = {
  readonly roles: string
  readonly groups: string
  readonly application_object_id: string
  readonly ttl: string
  readonly max_ttl: string
  /** How many credentials are made ahead. */
  readonly pool: string
}

const start: Values = {
  roles: JSON.stringify(
    [{ role_name: 'Reader', scope: '/subscriptions/<id>/resourceGroups/<name>' }],
    null,
    2,
  ),
  groups: '',
  application_object_id: '',
  ttl: '1h',
  max_ttl: '24h',
  pool: '0',
}

/** Creates a role or changes it. */
export function RoleEditor({ mount, name }: Props) {
  const params = { cloud_mount_path: mount.path, name }
  const role = `${mount.path}/roles/${name}`
  const { can, isKnown } = useCapabilities([role])
  const { data, error } = useQuery({
    queryKey: ['cloud-role', mount.path, name],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => dataOrNull(readRole({ params }, { signal })),
  })
  if (isKnown && !can(role, data === null ? 'create' : 'update') && !can(role, 'update'))
    return <EmptyState title={strings.shell.notAllowed} />
  return (
    <>
      <ViewHeader title={text.editRole(name)} requests={[readRole.request({ params })]} />
      <Failure error={error} />
      {data !== undefined && (
        <Form mount={mount} name={name} stored={data === null ? start : valuesOf(data)} />
      )}
    </>
  )
}

function valuesOf(role: Readonly<Record<string, unknown>>): Values {
  const list = (kind: string) => {
    const found = role[`cloud_${kind}`] ?? role[`azure_${kind}`]
    return Array.isArray(found) && found.length > 0 ? JSON.stringify(found, null, 2) : ''
  }
  const seconds = (field: string) => {
    const value = role[field]
    return typeof value === 'number' ? typedDuration(value) : ''
  }
  const { application_object_id: application } = role
  return {
    roles: list('roles'),
    groups: list('groups'),
    application_object_id: typeof application === 'string' ? application : '',
    ttl: seconds('ttl'),
    max_ttl: seconds('max_ttl'),
    pool: typeof role['pool'] === 'number' ? String(role['pool']) : '0',
  }
}

function Form({ mount, name, stored }: Props & { readonly stored: Values }) {
  const client = useQueryClient()
  const go = useGo()
  const [values, setValues] = useState(stored)
  const [error, setError] = useState<unknown>()
  const kind = mount.isAzure ? 'azure' : 'cloud'
  const field = (part: keyof Values) => (part === 'roles' || part === 'groups' ? `${kind}_${part}` : part)
  useUnsaved(values)
  const done = () => go({ view: 'cloud', parts: [mount.path, 'roles', name] }, { replace: true })
  const save = useAction(async () => {
    const { roles, groups, pool, ...others } = values
    const common = { ...others, ...(pool !== stored.pool && { pool: Number(pool) }) }
    try {
      if (mount.isAzure)
        await writeAzureRole({
          params: { azure_mount_path: mount.path, name },
          body: { ...common, azure_roles: roles || '[]', azure_groups: groups || '[]' },
        })
      else
        await writeRole({
          params: { cloud_mount_path: mount.path, name },
          body: { ...common, cloud_roles: roles || '[]', cloud_groups: groups || '[]' },
        })
      for (const key of ['cloud-roles', 'cloud-role', 'history'])
        await client.invalidateQueries({ queryKey: [key] })
      announce(strings.saved)
      done()
    } catch (refusal) {
      setError(refusal)
    }
  })
  const input = (part: keyof Values, rows?: number) => (
    <Field
      label={text.roleFields[part]}
      hint={text.roleFieldHints[part]}
      mono
      {...(rows !== undefined && { rows })}
      value={values[part]}
      error={errorOfField(error, field(part))}
      onChange={(value) => setValues((before) => ({ ...before, [part]: value }))}
    />
  )
  const parts = ['roles', 'groups', 'application_object_id', 'ttl', 'max_ttl', 'pool'] as const
  const isNamed = parts.some((part) => errorOfField(error, field(part)) !== undefined)
  return (
    <form className="panel" onSubmit={(event) => void save(event)}>
      {input('roles', linesOf(values.roles))}
      {input('groups', linesOf(values.groups))}
      {input('application_object_id')}
      <div className="filters">
        {input('ttl')}
        {input('max_ttl')}
        {input('pool')}
      </div>
      {!isNamed && <Failure error={error} />}
      <div className="actions">
        <Button kind="primary" type="submit">
          {text.save}
        </Button>
        <Button onPress={done}>{strings.cancel}</Button>
      </div>
    </form>
  )
}

/** All of it is in sight, unless it is long. */
const linesOf = (typed: string): number => Math.min(20, typed.split('\n').length + 2)
