import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { loginRole } from '../../../api/logins.ts'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { Select } from '../../../components/select.tsx'
import { useCapabilities } from '../../../shell/capabilities.ts'
import { strings } from '../../../strings.ts'
import { writePodRole } from '../pod-calls.ts'
import { podRoleWhatIf } from './calls.ts'
import { ObjectEditor } from './object-editor.tsx'
import { alwaysSentOfPods, podRoleFields } from './pod-fields.ts'
import { ProposedChange } from './proposed-change.tsx'
import type { Values } from './spec.ts'
import { TryToken } from './try-token.tsx'

const text = strings.logins

type Client = keyof typeof text.pods.clients

/** How long a token lasts that suits each client: those that log in for each read need it for minutes only. */
const ttlOf: Readonly<Record<Client, string>> = {
  agent: '1h',
  externalSecrets: '10m',
  secretsOperator: '10m',
  csi: '15m',
  other: '15m',
}
const isClient = (name: string): name is Client => Object.hasOwn(ttlOf, name)

type Mount = { readonly mount: string }
type Proposed = {
  /** A change to begin with, of which before and after are shown. */
  readonly proposal?: Values
  /** Nobody vouches for the values of the change. */
  readonly isUnverified?: boolean
}
type Done = { readonly onSaved: () => void; readonly onCancel: () => void }

/** A new role of a mount of type `kubernetes`, for a client. */
export function NewPodRole({
  mount,
  onSaved,
  onCancel,
}: Mount & Pick<Done, 'onCancel'> & { readonly onSaved: (name: string) => void }) {
  const [client, setClient] = useState<Client>('agent')
  const [name, setName] = useState('')
  const role = name.trim().toLowerCase()
  return (
    <PodRoleForm
      key={client}
      mount={mount}
      name={role}
      stored={undefined}
      changes={{ audience: 'gatehouse', token_ttl: ttlOf[client], renewal_review: true }}
      onSaved={() => onSaved(role)}
      onCancel={onCancel}
    >
      <Select
        label={text.pods.client}
        value={client}
        onChange={(chosen) => isClient(chosen) && setClient(chosen)}
        options={Object.entries(text.pods.clients).map(([one, { label }]) => [one, label])}
      />
      <p className="hint">
        {text.pods.audience}: {text.pods.clients[client].audience}
      </p>
      <Field label={text.editor.roleName} isRequired value={name} onChange={setName} />
    </PodRoleForm>
  )
}

/** The form of a role that exists. */
export function PodRoleEditor({ mount, name, ...more }: Mount & Done & Proposed & { readonly name: string }) {
  const { data, error } = useQuery({
    queryKey: ['login-role-edited', mount, name],
    queryFn: ({ signal }) => loginRole({ params: { jwt_mount_path: mount, name } }, { signal }),
    // what is being edited must not change
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (error !== null) return <Failure error={error} />
  return data === undefined ? null : <PodRoleForm mount={mount} name={name} stored={data.data} {...more} />
}

type FormProps = Mount &
  Done &
  Proposed & {
    readonly name: string
    readonly stored: Values | undefined
    readonly changes?: Values
    readonly children?: ReactNode
  }

function PodRoleForm({
  mount,
  name,
  stored,
  changes = {},
  proposal,
  isUnverified = false,
  onSaved,
  onCancel,
  children,
}: FormProps) {
  const client = useQueryClient()
  const path = `auth/${mount}/role/${name || 'x'}`
  const { can } = useCapabilities([path, `${path}/what-if`, `auth/${mount}/explain`])
  const params = { kubernetes_mount_path: mount, name }
  const mayTry = can(`${path}/what-if`, 'update') && can(path, 'update') && name !== ''
  return (
    <ObjectEditor
      title={stored === undefined ? text.editor.newRole : text.editor.edit(name)}
      path={path}
      specs={podRoleFields}
      stored={stored}
      changes={{ ...changes, ...proposal }}
      always={alwaysSentOfPods}
      tryOut={mayTry ? (body, options) => podRoleWhatIf({ params, body: { ...body } }, options) : undefined}
      write={async (body) => {
        await writePodRole({ params, body: { ...body } })
        for (const key of ['login-roles', 'login-role', 'login-lint', 'history'])
          await client.invalidateQueries({ queryKey: [key] })
        onSaved()
      }}
      onCancel={onCancel}
      beside={(body, apply) =>
        mayTry && can(`auth/${mount}/explain`, 'update') ? (
          <TryToken mount={mount} role={name} fields={body} apply={apply} />
        ) : null
      }
    >
      {proposal !== undefined && (
        <ProposedChange stored={stored} proposal={proposal} isUnverified={isUnverified} />
      )}
      {children}
    </ObjectEditor>
  )
}
