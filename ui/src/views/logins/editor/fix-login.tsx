import { useState } from 'react'
import type { Explanation } from '../../../api/logins.ts'
import { Button } from '../../../components/button.tsx'
import { useCapabilities } from '../../../shell/capabilities.ts'
import { strings } from '../../../strings.ts'
import { ConfigEditor } from './config-editor.tsx'
import { RoleEditor } from './role-editor.tsx'
import type { Values } from './spec.ts'
import { proposalFor } from './try-token.tsx'

const text = strings.logins.fix

type Props = {
  readonly mount: string
  readonly explanation: Explanation
  /** Explains the same login again. */
  readonly onSaved: () => void
}

type Fixing = { readonly role: Values } | { readonly config: Values }

/** The way from a refused login to the role or the configuration, with the change that would have let it in. */
export function FixLogin({ mount, explanation, onSaved }: Props) {
  const { role, proposals = [] } = explanation
  const [rolePath, configPath] = [`auth/${mount}/role/${role}`, `auth/${mount}/config`]
  const { can } = useCapabilities([rolePath, configPath])
  const [fixing, setFixing] = useState<Fixing>()
  const [isSaved, setSaved] = useState(false)
  const forRole = proposalFor(explanation, role)
  const forConfig = proposals.find(({ path }) => path === 'config')?.fields
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
        <ConfigEditor
          mount={mount}
          proposal={fixing.config}
          onDone={() => {
            close()
            onSaved()
          }}
        />
      )}
      {fixing !== undefined && 'role' in fixing && (
        <RoleEditor
          mount={mount}
          name={role}
          proposal={fixing.role}
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
