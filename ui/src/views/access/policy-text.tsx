import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/errors.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { type StoredPolicy, writePolicy } from './calls.ts'
import { pathsIn, usePlaces } from './places.ts'
import { PolicyInput } from './policy-input.tsx'
import { PolicyWhatIf } from './policy-what-if.tsx'
import { warningsOf } from './rules.ts'
import { useMayExplain, Workbench } from './workbench.tsx'

const text = strings.access

type TextProps = {
  readonly name: string
  readonly stored: StoredPolicy | undefined
  readonly isNew: boolean
  readonly mayWrite: boolean
}

const start = 'path "secret/data/example/*" {\n  capabilities = ["read"]\n}\n'

/** A write replaces everything, so it repeats what the policy has beside its text. */
const termsOf = (stored: StoredPolicy | undefined, version: number | undefined) => ({
  ...(stored?.expiration !== undefined && { expiration: stored.expiration }),
  ...(stored?.allow_slashes_in_identity_templates === true && { allow_slashes_in_identity_templates: true }),
  ...(stored?.allow_wildcards_in_identity_templates === true && {
    allow_wildcards_in_identity_templates: true,
  }),
  ...(stored?.cas_required === true && { cas_required: true, cas: version }),
})

/** The editor of a policy. What the server says of a line stands at that line. */
export function PolicyText({ name, stored, isNew, mayWrite }: TextProps) {
  const client = useQueryClient()
  const places = usePlaces()
  const whatIfPath = `sys/policies/acl/${name}/what-if`
  const { can } = useCapabilities([whatIfPath])
  const { may } = useMayExplain()
  const [policy, setPolicy] = useState(isNew ? start : (stored?.policy ?? ''))
  const [version, setVersion] = useState(stored?.version)
  const markSaved = useUnsaved(policy)
  const [isStored, setStored] = useState(!isNew)
  const [state, setState] = useState<{ error?: unknown; saved?: boolean; warnings?: readonly string[] }>({})
  const save = useAction(async () => {
    try {
      const answer = await writePolicy({
        params: { path: name },
        body: { policy, ...termsOf(stored, version) },
      })
      setVersion(version === undefined ? undefined : version + 1)
      await client.invalidateQueries({ queryKey: ['policies'] })
      setStored(true)
      markSaved()
      setState({ saved: true, warnings: answer?.warnings ?? [] })
    } catch (error) {
      setState({ error })
    }
  })
  const fault = faultIn(state.error)
  if (name === 'root') return <p className="panel">{text.rootPolicy}</p>
  if (!mayWrite)
    return (
      <pre className="panel policy">
        <code>{stored?.policy}</code>
      </pre>
    )
  return (
    <>
      <form className="panel" onSubmit={(event) => void save(event)}>
        {!isStored && <p className="note">{text.newPolicy}</p>}
        <div className="numbered">
          <LineNumbers lines={policy.split('\n').length} fault={fault?.line} />
          <PolicyInput
            label={text.policy}
            paths={pathsIn(places ?? [])}
            value={policy}
            error={fault === undefined ? undefined : text.atLine(fault.line, fault.column, fault.detail)}
            onChange={(value) => {
              setPolicy(value)
              setState({})
            }}
          />
        </div>
        {fault === undefined && <Failure error={state.error} />}
        <ul className="warnings" aria-label={text.rules.warnings}>
          {warningsOf(
            policy,
            places?.map(({ path }) => path),
          ).map((warning) => (
            <li key={warning} className="finding">
              {warning}
            </li>
          ))}
        </ul>
        {(state.warnings ?? []).map((warning) => (
          <p key={warning} className="note">
            {warning}
          </p>
        ))}
        <div className="actions">
          <Button type="submit" kind="primary">
            {text.save}
          </Button>
          <span role="status">{state.saved === true && text.saved}</span>
        </div>
        {can(whatIfPath, 'update') && (
          <PolicyWhatIf name={name} body={{ policy, ...termsOf(stored, undefined) }} />
        )}
      </form>
      {may && <Workbench draft={policy} />}
    </>
  )
}

const LineNumbers = ({ lines, fault }: { readonly lines: number; readonly fault: number | undefined }) => (
  <ol className="lines" aria-hidden="true">
    {Array.from({ length: lines }, (_, at) => (
      <li key={at + 1} className={at + 1 === fault ? 'fault' : ''}>
        {at + 1}
      </li>
    ))}
  </ol>
)

type Fault = { readonly line: number; readonly column: number; readonly detail: string }

/** `… At 3:12: …`, as the server names the place of a syntax error. */
function faultIn(error: unknown): Fault | undefined {
  if (!(error instanceof ApiError)) return undefined
  const [, line, column, detail = ''] =
    /\bAt (\d{1,9}):(\d{1,9}): ([^\n]*)/.exec(error.errors.join('\n')) ?? []
  return line === undefined ? undefined : { line: Number(line), column: Number(column), detail }
}
