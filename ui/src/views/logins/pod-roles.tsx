import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { Select } from '../../components/select.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { writePodRole } from './pod-calls.ts'
import { Roles } from './roles.tsx'

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

/** The roles of a mount of type `kubernetes`, and a new one. */
export const PodRoles = ({ mount }: { readonly mount: string }) => (
  <div className="stack">
    <Roles mount={mount} />
    <NewPodRole mount={mount} />
  </div>
)

function NewPodRole({ mount }: { readonly mount: string }) {
  const queries = useQueryClient()
  const go = useGo()
  const [client, setClient] = useState<Client>('agent')
  const path = `auth/${mount}/role/x`
  const { can } = useCapabilities([path])
  if (!can(path, 'create')) return null
  return (
    <>
      <Select
        label={text.pods.client}
        value={client}
        onChange={(name) => isClient(name) && setClient(name)}
        options={Object.entries(text.pods.clients).map(([name, { label }]) => [name, label])}
      />
      <FieldsForm
        key={client}
        title={text.newRole}
        action={text.create}
        fields={[
          { name: 'name', label: text.role, isRequired: true },
          {
            name: 'bound_service_account_names',
            label: text.pods.accounts,
            hint: text.policiesHint,
            isRequired: true,
          },
          {
            name: 'bound_service_account_namespaces',
            label: text.pods.namespaces,
            hint: text.policiesHint,
            isRequired: true,
          },
          {
            name: 'audience',
            label: text.pods.audience,
            hint: text.pods.clients[client].audience,
            initial: 'gatehouse',
          },
          { name: 'token_policies', label: text.policies, hint: text.policiesHint },
          { name: 'token_ttl', label: text.pods.ttl, initial: ttlOf[client] },
        ]}
        run={async (value) => {
          const name = value('name').toLowerCase()
          const body = {
            bound_service_account_names: listOf(value('bound_service_account_names')),
            bound_service_account_namespaces: listOf(value('bound_service_account_namespaces')),
            audience: value('audience'),
            token_policies: listOf(value('token_policies')),
            ...(value('token_ttl') !== '' && { token_ttl: value('token_ttl') }),
          }
          await writePodRole({ params: { kubernetes_mount_path: mount, name }, body })
          for (const key of ['login-roles', 'login-role', 'login-lint'])
            await queries.invalidateQueries({ queryKey: [key, mount] })
          go({ view: 'logins', parts: [mount, 'roles', name] })
        }}
      />
    </>
  )
}
