import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keysOf } from '../../api/errors.ts'
import { tidySecretIds } from '../../api/tidy.ts'
import { Confirm } from '../../components/confirm.tsx'
import { CopyButton } from '../../components/copy-as.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { List } from '../../components/list.tsx'
import { Secret } from '../../components/secret.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { usePolicyChoices } from '../../shell/people.ts'
import { Tidy } from '../../shell/tidy.tsx'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import {
  createSecretId,
  deleteAppRole,
  destroySecretId,
  listAppRoles,
  listSecretIds,
  lookUpSecretId,
  readAppRole,
  readRoleId,
  writeAppRole,
} from './app-role-calls.ts'

const text = strings.logins

type Mount = { readonly mount: string }
type Role = Mount & { readonly name: string }

/** The roles of a mount of type `approle`, with their RoleIDs and SecretIDs. */
export function AppRoles({ mount }: Mount) {
  const { parts } = usePlace()
  const { data, error } = useQuery({
    queryKey: ['app-roles', mount],
    queryFn: ({ signal }) => keysOf(listAppRoles({ params: { approle_mount_path: mount } }, { signal })),
  })
  const [, , picked, accessor] = parts
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  return (
    <div className={picked === undefined ? 'stack' : 'beside'}>
      <div className="stack">
        {data.length === 0 ? (
          <EmptyState title={text.noRoles}>{text.noAppRolesNext}</EmptyState>
        ) : (
          <List name="app-roles" label={text.tabs.roles} rows={data} keyOf={(name) => name}>
            {(name) => (
              <PlaceLink view="logins" parts={[mount, 'roles', name]}>
                {name}
              </PlaceLink>
            )}
          </List>
        )}
        <NewAppRole mount={mount} />
        <Tidy
          path={`auth/${mount}/tidy/secret-id`}
          hint={text.tidyHint}
          run={() => tidySecretIds({ params: { approle_mount_path: mount } })}
        />
      </div>
      {picked !== undefined && (
        <section className="stack" aria-label={picked} key={picked}>
          <AppRole mount={mount} name={picked} />
          <SecretIds mount={mount} name={picked} accessor={accessor} />
        </section>
      )}
    </div>
  )
}

function NewAppRole({ mount }: Mount) {
  const client = useQueryClient()
  const go = useGo()
  const path = `auth/${mount}/role/x`
  const { can } = useCapabilities([path])
  const policies = usePolicyChoices()
  if (!can(path, 'create')) return null
  return (
    <FieldsForm
      title={text.newRole}
      action={text.create}
      fields={[
        { name: 'name', label: text.role, isRequired: true },
        { name: 'token_policies', label: text.policies, picks: { choices: policies, allowsOther: true } },
        { name: 'secret_id_ttl', label: text.secretIdTtl, hint: text.durationHint },
        { name: 'secret_id_num_uses', label: text.secretIdUses, hint: text.usesHint, type: 'number' },
      ]}
      run={async (value) => {
        const name = value('name').toLowerCase()
        const body = {
          token_policies: listOf(value('token_policies')),
          ...(value('secret_id_ttl') !== '' && { secret_id_ttl: value('secret_id_ttl') }),
          ...(value('secret_id_num_uses') !== '' && {
            secret_id_num_uses: Number(value('secret_id_num_uses')),
          }),
        }
        await writeAppRole({ params: { approle_mount_path: mount, role_name: name }, body })
        await client.invalidateQueries({ queryKey: ['app-roles', mount] })
        await client.invalidateQueries({ queryKey: ['app-role', mount, name] })
        go({ view: 'logins', parts: [mount, 'roles', name] })
      }}
    />
  )
}

function AppRole({ mount, name }: Role) {
  const client = useQueryClient()
  const go = useGo()
  const path = `auth/${mount}/role/${name}`
  const { can } = useCapabilities([path, `${path}/role-id`])
  const params = { approle_mount_path: mount, role_name: name }
  const { data, error } = useQuery({
    queryKey: ['app-role', mount, name],
    queryFn: async ({ signal }) => (await readAppRole({ params }, { signal })).data,
    enabled: can(path, 'read'),
  })
  const { data: id } = useQuery({
    queryKey: ['role-id', mount, name],
    queryFn: async ({ signal }) => (await readRoleId({ params }, { signal })).data.role_id ?? '',
    enabled: can(`${path}/role-id`, 'read'),
  })
  return (
    <div className="panel">
      <h2>{name}</h2>
      <Failure error={error} />
      {id !== undefined && (
        <dl className="facts">
          <dt>{text.roleId}</dt>
          <dd>
            <code>{id}</code> <CopyButton text={id} of={text.roleId} />
          </dd>
        </dl>
      )}
      {data !== undefined && <Fields values={data} />}
      <ObjectHistory path={path} />
      {can(path, 'delete') && (
        <div className="actions">
          <Confirm
            label={text.delete}
            question={text.deleteRoleQuestion(name)}
            action={text.delete}
            onConfirmed={async () => {
              await deleteAppRole({ params })
              await client.invalidateQueries({ queryKey: ['app-roles', mount] })
              go({ view: 'logins', parts: [mount, 'roles'] })
              for (const key of ['app-role', 'role-id', 'secret-ids'])
                await client.resetQueries({ queryKey: [key, mount, name] })
            }}
          >
            <p>{text.deleteAppRoleHint}</p>
          </Confirm>
        </div>
      )}
    </div>
  )
}

/** At most this many are listed: a role may have a million. */
const mostListed = 100

/** The SecretIDs of a role by their accessors, and a new one, which is shown once. */
function SecretIds({ mount, name, accessor }: Role & { readonly accessor: string | undefined }) {
  const client = useQueryClient()
  const path = `auth/${mount}/role/${name}/secret-id`
  const { can } = useCapabilities([path])
  const [made, setMade] = useState<string>()
  const params = { approle_mount_path: mount, role_name: name }
  const key = ['secret-ids', mount, name]
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) =>
      keysOf(listSecretIds({ params, query: { limit: String(mostListed) } }, { signal })),
    enabled: can(path, 'list'),
  })
  return (
    <>
      {can(path, 'update') && (
        <FieldsForm
          title={text.newSecretId}
          action={text.create}
          fields={[
            { name: 'ttl', label: text.secretIdTtl, hint: text.durationHint },
            { name: 'num_uses', label: text.secretIdUses, hint: text.usesHint, type: 'number' },
          ]}
          run={async (value) => {
            const body = {
              ...(value('ttl') !== '' && { ttl: value('ttl') }),
              ...(value('num_uses') !== '' && { num_uses: Number(value('num_uses')) }),
            }
            setMade((await createSecretId({ params, body })).data.secret_id)
            await client.invalidateQueries({ queryKey: key })
          }}
        />
      )}
      {made !== undefined && (
        <div className="panel" role="status">
          <dl className="facts">
            <dt>{text.secretId}</dt>
            <dd>
              <Secret value={made} label={text.secretId} />
            </dd>
          </dl>
          <p className="hint">{text.secretIdOnce}</p>
        </div>
      )}
      <Failure error={error} />
      {data !== undefined && data.length > 0 && (
        <>
          <List name="secret-ids" label={text.secretIds} rows={data} keyOf={(one) => one}>
            {(one) => (
              <PlaceLink view="logins" parts={[mount, 'roles', name, one]} className="mono">
                {one}
              </PlaceLink>
            )}
          </List>
          {data.length === mostListed && <p className="hint">{text.moreSecretIds(mostListed)}</p>}
        </>
      )}
      {accessor !== undefined && <SecretId mount={mount} name={name} accessor={accessor} />}
    </>
  )
}

function SecretId({ mount, name, accessor }: Role & { readonly accessor: string }) {
  const client = useQueryClient()
  const go = useGo()
  const path = `auth/${mount}/role/${name}/secret-id-accessor`
  const { can } = useCapabilities([`${path}/lookup`, `${path}/destroy`])
  const params = { approle_mount_path: mount, role_name: name }
  const body = { secret_id_accessor: accessor }
  const { data, error } = useQuery({
    queryKey: ['secret-id', mount, name, accessor],
    queryFn: async ({ signal }) => (await lookUpSecretId({ params, body }, { signal })).data,
    enabled: can(`${path}/lookup`, 'update'),
  })
  return (
    <section className="panel" aria-label={accessor}>
      <h3 className="mono">{accessor}</h3>
      <Failure error={error} />
      {data !== undefined && <Fields values={data} />}
      {can(`${path}/destroy`, 'update') && (
        <div className="actions">
          <Confirm
            label={text.destroy}
            question={text.destroyQuestion(accessor)}
            action={text.destroy}
            onConfirmed={async () => {
              await destroySecretId({ params, body })
              await client.invalidateQueries({ queryKey: ['secret-ids', mount, name] })
              go({ view: 'logins', parts: [mount, 'roles', name] })
            }}
          >
            <p>{text.destroyHint}</p>
          </Confirm>
        </div>
      )}
    </section>
  )
}
