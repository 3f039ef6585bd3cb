import { useState } from 'react'
import type { Explanation } from '../../../api/logins.ts'
import { Button } from '../../../components/button.tsx'
import { useCapabilities } from '../../../shell/capabilities.ts'
import { useMounts } from '../../../shell/mounts.ts'
import { strings } from '../../../strings.ts'
import { ConfigEditor, PodConfigEditor } from './config-editor.tsx'
import { PodRoleEditor } from './pod-role-editor.tsx'
import { RoleEditor } from './role-editor.tsx'
import type { Values } from './spec.ts'
import { proposalFor, proposalOf } from './try-token.tsx'

const text = strings.logins.fix

type Props = {
  readonly mount: string
  readonly explanation: Explanation
  /** Explains the same login again. */
  readonly onSaved: () => void
}

type Fixing = { readonly role: Values } | { readonly config: Values }

/** The forms for the mounts of each type. */
const ofJwt = { Role: RoleEditor, Config: ConfigEditor }
const ofPods = { Role: PodRoleEditor, Config: PodConfigEditor }

/** The way from a refused login to the role or the configuration, with the change that would have let it in. */
export function FixLogin({ mount, explanation, onSaved }: Props) {
  const { role, proposals } = explanation
  const { mounts } = useMounts()
  const { Role, Config } = mounts.auth[`${mount}/`]?.type === 'kubernetes' ? ofPods : ofJwt
  const [rolePath, configPath] = [`auth/${mount}/role/${role}`, `auth/${mount}/config`]
  const { can } = useCapabilities([rolePath, configPath])
  const [fixing, setFixing] = useState<Fixing>()
  const [isSaved, setSaved] = useState(false)
  const forRole = proposalFor(explanation, role)
  const forConfig = proposalOf(proposals, 'config')?.fields
  const close = () => setFixing(undefined)
  return (
    <>
      <p role="status" className={isSaved ? 'note' : 'hidden'}>
        {isSaved && text.saved}
      </p>
      {fixing === undefined && (
        <div className="actions">
          {forConfig !== undefined && can(configPath, 'update') && (
            <Button kind="primary" onPress={() => setFixing({ config: forConfig })}>
              {text.config}
            </Button>
          )}
          {forRole !== undefined && can(rolePath, 'update') && (
            <Button kind="primary" onPress={() => setFixing({ role: forRole })}>
              {text.role}
            </Button>
          )}
        </div>
      )}
      {fixing !== undefined && 'config' in fixing && (
        <Config
          mount={mount}
          proposal={fixing.config}
          onDone={() => {
            close()
            onSaved()
          }}
        />
      )}
      {fixing !== undefined && 'role' in fixing && (
        <Role
          mount={mount}
          name={role}
          proposal={fixing.role}
          isUnverified={proposalOf(proposals, `role/${role.toLowerCase()}`)?.unverified === true}
          onCancel={close}
          onSaved={() => {
            setSaved(true)
            close()
            onSaved()
          }}
        />
      )}
    </>
  )
}
