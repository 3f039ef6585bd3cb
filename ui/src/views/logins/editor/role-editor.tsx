import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { dataOrNull } from '../../../api/errors.ts'
import { loginRole } from '../../../api/logins.ts'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { Select } from '../../../components/select.tsx'
import { useCapabilities } from '../../../shell/capabilities.ts'
import { strings } from '../../../strings.ts'
import { roleWhatIf, writeLoginRole } from './calls.ts'
import { ObjectEditor } from './object-editor.tsx'
import { presets } from './presets.ts'
import { ProposedChange } from './proposed-change.tsx'
import { alwaysSent, roleFields } from './role-fields.ts'
import type { Values } from './spec.ts'
import { TryToken } from './try-token.tsx'

const text = strings.logins.editor

type Mount = { readonly mount: string }

type Props = Mount & {
  readonly name: string
  /** A change to begin with, of which before and after are shown. */
  readonly proposal?: Values
  /** Nobody vouches for the values of the change. */
  readonly isUnverified?: boolean
  readonly onSaved: () => void
  readonly onCancel: () => void
}

/** The form of a role that exists. */
export function RoleEditor({ mount, name, proposal, onSaved, onCancel }: Props) {
  const { data, error } = useQuery({
    queryKey: ['login-role-edited', mount, name],
    queryFn: ({ signal }) => dataOrNull(loginRole({ params: { jwt_mount_path: mount, name } }, { signal })),
    // what is being edited must not change
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  return (
    <RoleForm
      mount={mount}
      name={name}
      stored={data ?? undefined}
      {...(proposal !== undefined && { proposal })}
      onSaved={onSaved}
      onCancel={onCancel}
    />
  )
}

/** A new role, from a preset or not. */
export function NewRole({
  mount,
  onSaved,
  onCancel,
}: Mount & { readonly onSaved: (name: string) => void; readonly onCancel: () => void }) {
  const [name, setName] = useState('')
  const [preset, setPreset] = useState('')
  const known = presets(mount)
  const role = name.trim().toLowerCase()
  return (
    <RoleForm
      // another preset is another form
      key={preset}
      mount={mount}
      name={role}
      stored={undefined}
      changes={known[preset]?.role ?? { role_type: 'jwt' }}
      onSaved={() => onSaved(role)}
      onCancel={onCancel}
    >
      <Select
        label={text.preset}
        value={preset}
        onChange={setPreset}
        options={[
          ['', text.noPreset],
          ...Object.entries(known).map(([id, { label }]) => [id, label] as const),
        ]}
      />
      <Field label={text.roleName} isRequired value={name} onChange={setName} />
    </RoleForm>
  )
}

type FormProps = Props & {
  readonly stored: Values | undefined
  readonly changes?: Values
  readonly children?: ReactNode
}

function RoleForm({ mount, name, stored, proposal, changes, onSaved, onCancel, children }: FormProps) {
  const client = useQueryClient()
  const path = `auth/${mount}/role/${name || 'x'}`
  const { can } = useCapabilities([path, `${path}/what-if`, `auth/${mount}/explain`])
  const params = { jwt_mount_path: mount, name }
  const mayTry = can(`${path}/what-if`, 'update') && can(path, 'update') && name !== ''
  return (
    <ObjectEditor
      title={stored === undefined ? text.newRole : text.edit(name)}
      path={path}
      specs={roleFields}
      stored={stored}
      changes={{ ...changes, ...proposal }}
      always={alwaysSent}
      tryOut={mayTry ? (body, options) => roleWhatIf({ params, body: { ...body } }, options) : undefined}
      write={async (body) => {
        await writeLoginRole({ params, body: { ...body } })
        for (const key of ['login-roles', 'login-role', 'login-lint', 'history'])
          await client.invalidateQueries({ queryKey: [key] })
        onSaved()
      }}
      onCancel={onCancel}
      beside={(body, apply) =>
        mayTry && can(`auth/${mount}/explain`, 'update') ? (
          <TryToken
            key={String(body['role_type'])}
            mount={mount}
            role={name}
            fields={body}
            apply={apply}
            isIdToken={body['role_type'] === 'oidc'}
          />
        ) : null
      }
    >
      {proposal !== undefined && <ProposedChange stored={stored} proposal={proposal} />}
      {children}
    </ObjectEditor>
  )
}
