import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keysOf } from '../../api/errors.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { State } from '../../components/state.tsx'
import { Table } from '../../components/table.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useMounts } from '../../shell/mounts.ts'
import { usePolicyChoices } from '../../shell/people.ts'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import {
  deleteUser,
  listUsers,
  lockedUsers,
  readUser,
  setPassword,
  setPolicies,
  unlockUser,
  writeUser,
} from './user-calls.ts'

const text = strings.logins

type Mount = { readonly mount: string }

/** The people who log in to a mount of type `userpass`, and who of them is locked out. */
export function Users({ mount }: Mount) {
  const { parts, search } = usePlace()
  const { data, error } = useQuery({
    queryKey: ['users', mount],
    queryFn: ({ signal }) => keysOf(listUsers({ params: { userpass_mount_path: mount } }, { signal })),
  })
  const locks = useLocks(mount)
  const picked = parts[2]
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  return (
    <div className={picked === undefined ? 'stack' : 'beside'}>
      <div className="stack">
        {data.length === 0 ? (
          <EmptyState title={text.noUsers}>{text.noUsersNext}</EmptyState>
        ) : (
          <Table
            name="users"
            label={text.tabs.users}
            columns={[
              {
                id: 'name',
                title: text.user,
                by: (name: string) => name,
                cell: (name: string) => (
                  <PlaceLink view="logins" parts={[mount, 'users', name]} search={search}>
                    {name}
                  </PlaceLink>
                ),
              },
              {
                id: 'lock',
                title: text.state,
                by: (name: string) => (locks.of(name) === undefined ? 1 : 0),
                cell: (name: string) =>
                  locks.of(name) !== undefined ? (
                    <State kind="bad">{text.locked}</State>
                  ) : (
                    locks.isKnown && <State kind="good">{text.notLocked}</State>
                  ),
              },
            ]}
            rows={data}
            keyOf={(name) => name}
          />
        )}
        <NewUser mount={mount} />
      </div>
      {picked !== undefined && <User key={picked} mount={mount} name={picked} locks={locks} />}
    </div>
  )
}

type Locks = {
  readonly isKnown: boolean
  /** Undefined: the user is not locked out, or the token may not know. */
  of(name: string): { readonly accessor: string } | undefined
  unlock(name: string): Promise<void>
}

function useLocks(mount: string): Locks {
  const { mounts } = useMounts()
  const accessor = mounts.auth[`${mount}/`]?.accessor
  const { can } = useCapabilities(['sys/locked-users'])
  const client = useQueryClient()
  const key = ['locked-users']
  const { data } = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => (await lockedUsers({}, { signal })).data.by_namespace,
    enabled: can('sys/locked-users', 'read'),
  })
  const names = (data ?? [])
    .flatMap(({ mount_accessors: locked }) => locked)
    .filter(({ mount_accessor: of }) => of === accessor)
    .flatMap(({ alias_identifiers: locked }) => locked ?? [])
  return {
    isKnown: data !== undefined,
    of: (name) => (accessor !== undefined && names.includes(name) ? { accessor } : undefined),
    unlock: async (name) => {
      await unlockUser({ params: { mount_accessor: accessor ?? '', name } })
      await client.invalidateQueries({ queryKey: key })
    },
  }
}

function NewUser({ mount }: Mount) {
  const client = useQueryClient()
  const go = useGo()
  const path = `auth/${mount}/users/x`
  const { can } = useCapabilities([path])
  const policies = usePolicyChoices()
  if (!can(path, 'create')) return null
  return (
    <FieldsForm
      title={text.newUser}
      action={text.create}
      fields={[
        { name: 'username', label: text.user, isRequired: true },
        { name: 'password', label: text.password, isRequired: true, type: 'password' },
        { name: 'token_policies', label: text.policies, picks: { choices: policies, allowsOther: true } },
      ]}
      run={async (value) => {
        const username = value('username').toLowerCase()
        const body = { password: value('password'), token_policies: listOf(value('token_policies')) }
        await writeUser({ params: { userpass_mount_path: mount, username }, body })
        await client.invalidateQueries({ queryKey: ['users', mount] })
        await client.invalidateQueries({ queryKey: ['user', mount, username] })
        go({ view: 'logins', parts: [mount, 'users', username] })
      }}
    />
  )
}

type OneUser = Mount & { readonly name: string; readonly locks: Locks }

function User({ mount, name, locks }: OneUser) {
  const client = useQueryClient()
  const go = useGo()
  const path = `auth/${mount}/users/${name}`
  const lock = locks.of(name)
  const unlocking = `sys/locked-users/${lock?.accessor ?? 'x'}/unlock/${name}`
  const { can } = useCapabilities([path, `${path}/password`, `${path}/policies`, unlocking])
  const policies = usePolicyChoices()
  const [failure, setFailure] = useState<unknown>()
  const params = { userpass_mount_path: mount, username: name }
  const { data, error } = useQuery({
    queryKey: ['user', mount, name],
    queryFn: async ({ signal }) => (await readUser({ params }, { signal })).data,
    enabled: can(path, 'read'),
  })
  const unlock = () =>
    locks.unlock(name).then(
      () => setFailure(undefined),
      (refusal: unknown) => setFailure(refusal),
    )
  return (
    <section className="stack" aria-label={name}>
      <div className="panel">
        <h2>{name}</h2>
        <Failure error={error ?? failure} />
        {lock !== undefined && (
          <p className="note" role="status">
            {text.lockedHint}
          </p>
        )}
        {data !== undefined && <Fields values={data} />}
        <ObjectHistory path={path} />
        <div className="actions">
          {lock !== undefined && can(unlocking, 'update') && (
            <Button onPress={() => void unlock()}>{text.unlock}</Button>
          )}
          {can(path, 'delete') && (
            <Confirm
              label={text.delete}
              question={text.deleteUserQuestion(name)}
              action={text.delete}
              onConfirmed={async () => {
                await deleteUser({ params })
                await client.invalidateQueries({ queryKey: ['users', mount] })
                go({ view: 'logins', parts: [mount, 'users'] })
                await client.resetQueries({ queryKey: ['user', mount, name] })
              }}
            >
              <p>{text.deleteUserHint}</p>
            </Confirm>
          )}
        </div>
      </div>
      {can(`${path}/password`, 'update') && (
        <FieldsForm
          title={text.newPassword}
          action={text.change}
          fields={[{ name: 'password', label: text.password, isRequired: true, type: 'password' }]}
          run={(value) => setPassword({ params, body: { password: value('password') } })}
        />
      )}
      {data !== undefined && can(`${path}/policies`, 'update') && (
        <FieldsForm
          key={policiesIn(data)}
          title={text.policies}
          action={text.change}
          fields={[
            {
              name: 'token_policies',
              label: text.policies,
              picks: { choices: policies, allowsOther: true },
              initial: policiesIn(data),
            },
          ]}
          run={async (value) => {
            await setPolicies({ params, body: { token_policies: listOf(value('token_policies')) } })
            await client.invalidateQueries({ queryKey: ['user', mount, name] })
          }}
        />
      )}
    </section>
  )
}

const policiesIn = ({ token_policies: policies }: Readonly<Record<string, unknown>>): string =>
  Array.isArray(policies) ? policies.join(', ') : ''
