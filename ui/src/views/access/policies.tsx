import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ApiError, dataOrNull, keysOf } from '../../api/errors.ts'
import { listPolicies } from '../../api/people.ts'
import { capabilitiesSelf } from '../../api/server.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { List } from '../../components/list.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { deletePolicy, readPolicy, type StoredPolicy, writePolicy } from './calls.ts'

const text = strings.access

const pathOf = (name: string): string => `sys/policies/acl/${name}`

/** With more policies than this, the page of each says whether the token may read it. */
const mostAsked = 1000

export function Policies({ object }: { readonly object: string | undefined }) {
  return object === undefined ? <PolicyList /> : <Policy name={object} />
}

function PolicyList() {
  const { data, error } = useQuery({
    queryKey: ['policies'],
    queryFn: ({ signal }) => keysOf(listPolicies({}, { signal })),
  })
  const asked = data === undefined || data.length > mostAsked ? [] : data
  const { can } = useCapabilities(asked.map(pathOf))
  // a token may be allowed to list policies that it may not read
  const mayRead = (name: string) => asked.length === 0 || can(pathOf(name), 'read')
  return (
    <>
      <ViewHeader title={text.tabs.policies} requests={[listPolicies.request({})]} />
      <NewPolicy />
      <Failure error={error} />
      {data !== undefined && (
        <List name="policies" label={text.tabs.policies} rows={data} keyOf={(name) => name}>
          {(name) =>
            mayRead(name) ? (
              <PlaceLink view="access" parts={['policies', name]}>
                {name}
              </PlaceLink>
            ) : (
              <span>{name}</span>
            )
          }
        </List>
      )}
      <MayI />
    </>
  )
}

function NewPolicy() {
  const go = useGo()
  const [name, setName] = useState('')
  return (
    <form
      className="one-line"
      onSubmit={(event) => {
        event.preventDefault()
        go({ view: 'access', parts: ['policies', name.trim()] })
      }}
    >
      <Field label={text.openPolicy} isRequired value={name} onChange={setName} mono />
      <Button type="submit">{text.open}</Button>
    </form>
  )
}

/** What the token may do at one path. */
function MayI() {
  const [path, setPath] = useState('')
  const [outcome, setOutcome] = useState<{ path?: string; may?: readonly string[]; error?: unknown }>({})
  const ask = async (event: FormEvent) => {
    event.preventDefault()
    try {
      const asked = path.trim()
      const { data } = await capabilitiesSelf({ body: { paths: [asked] } })
      setOutcome({ path: asked, may: data[asked] ?? [] })
    } catch (error) {
      setOutcome({ error })
    }
  }
  return (
    <section className="panel" aria-labelledby="may-i">
      <h2 id="may-i">{text.mayI}</h2>
      <form className="one-line" onSubmit={(event) => void ask(event)}>
        <Field label={text.path} isRequired mono value={path} onChange={setPath} />
        <Button type="submit">{text.ask}</Button>
      </form>
      <Failure error={outcome.error} />
      <p role="status">
        {outcome.may !== undefined && text.mayAt(outcome.path ?? '', outcome.may.join(', '))}
      </p>
    </section>
  )
}

function Policy({ name }: { readonly name: string }) {
  const path = pathOf(name)
  const { can, isKnown } = useCapabilities([path])
  const { data, error } = useQuery({
    queryKey: ['policy', name],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: async ({ signal }) => await dataOrNull(readPolicy({ params: { path: name } }, { signal })),
  })
  const isNew = data === null
  const mayWrite = name !== 'root' && (can(path, 'update') || (isNew && can(path, 'create')))
  return (
    <>
      <ViewHeader title={name} requests={[readPolicy.request({ params: { path: name } })]}>
        {data && can(path, 'delete') && !['root', 'default'].includes(name) && <DeletePolicy name={name} />}
      </ViewHeader>
      <Failure error={error} />
      {data !== undefined && isKnown && (
        <PolicyText
          key={String(isNew)}
          name={name}
          stored={data ?? undefined}
          isNew={isNew}
          mayWrite={mayWrite}
        />
      )}
    </>
  )
}

function DeletePolicy({ name }: { readonly name: string }) {
  const client = useQueryClient()
  const go = useGo()
  return (
    <Confirm
      label={text.delete}
      question={text.deletePolicyQuestion(name)}
      action={text.delete}
      onConfirmed={async () => {
        await deletePolicy({ params: { path: name } })
        await client.invalidateQueries({ queryKey: ['policies'] })
        go({ view: 'access', parts: ['policies'] })
      }}
    >
      <p>{text.deletePolicyHint}</p>
    </Confirm>
  )
}

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
function PolicyText({ name, stored, isNew, mayWrite }: TextProps) {
  const client = useQueryClient()
  const [policy, setPolicy] = useState(isNew ? start : (stored?.policy ?? ''))
  const [version, setVersion] = useState(stored?.version)
  const [state, setState] = useState<{ error?: unknown; saved?: boolean; warnings?: readonly string[] }>({})
  const save = async (event: FormEvent) => {
    event.preventDefault()
    try {
      const answer = await writePolicy({
        params: { path: name },
        body: { policy, ...termsOf(stored, version) },
      })
      setVersion(version === undefined ? undefined : version + 1)
      await client.invalidateQueries({ queryKey: ['policies'] })
      setState({ saved: true, warnings: answer?.warnings ?? [] })
    } catch (error) {
      setState({ error })
    }
  }
  const fault = faultIn(state.error)
  if (!mayWrite)
    return (
      <pre className="panel policy">
        <code>{stored?.policy}</code>
      </pre>
    )
  return (
    <form className="panel" onSubmit={(event) => void save(event)}>
      {isNew && <p className="note">{text.newPolicy}</p>}
      <div className="numbered">
        <LineNumbers lines={policy.split('\n').length} fault={fault?.line} />
        <Field
          label={text.policy}
          mono
          rows={Math.max(8, policy.split('\n').length + 1)}
          value={policy}
          error={fault === undefined ? undefined : text.atLine(fault.line, fault.column, fault.detail)}
          onChange={(value) => {
            setPolicy(value)
            setState({})
          }}
        />
      </div>
      {fault === undefined && <Failure error={state.error} />}
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
    </form>
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
