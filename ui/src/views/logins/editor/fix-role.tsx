import { useState } from 'react'
import type { Explanation } from '../../../api/logins.ts'
import { Button } from '../../../components/button.tsx'
import { useCapabilities } from '../../../shell/capabilities.ts'
import { strings } from '../../../strings.ts'
import { RoleEditor } from './role-editor.tsx'
import { proposalFor } from './try-token.tsx'

const text = strings.logins.fix

type Props = {
  readonly mount: string
  readonly explanation: Explanation
  /** Explains the same login again. */
  readonly onSaved: () => void
}

/** The way from a refused login to the role, with the change that would have let it in. */
export function FixRole({ mount, explanation, onSaved }: Props) {
  const { role, request_id: id } = explanation
  const path = `auth/${mount}/role/${role}`
  const { can } = useCapabilities([path])
  const [proposal, setProposal] = useState<ReturnType<typeof proposalFor>>()
  const [verdict, setVerdict] = useState('')
  const proposed = proposalFor(explanation, role)
  return (
    <>
      <p role="status" className={verdict === '' ? 'hidden' : 'note'}>
        {verdict}
      </p>
      {proposal === undefined && proposed !== undefined && can(path, 'update') && (
        <div className="actions">
          <Button kind="primary" onPress={() => setProposal(proposed)}>
            {text.role}
          </Button>
        </div>
      )}
      {proposal !== undefined && (
        <RoleEditor
          mount={mount}
          name={role}
          proposal={proposal}
          onCancel={() => setProposal(undefined)}
          onSaved={(report) => {
            const isLetIn = id !== undefined && report?.refusals.request_ids.includes(id) === true
            setVerdict(isLetIn ? `${text.saved} ${text.letIn}` : text.saved)
            setProposal(undefined)
            onSaved()
          }}
        />
      )}
    </>
  )
}
