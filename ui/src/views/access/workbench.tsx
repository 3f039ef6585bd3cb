import { type FormEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Picker } from '../../components/picker.tsx'
import { Select } from '../../components/select.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { usePeopleChoices, usePolicyChoices } from '../../shell/people.ts'
import { strings } from '../../strings.ts'
import { explain } from './calls.ts'

const text = strings.access.workbench

const callPath = 'sys/policies/explain'
const operations = ['read', 'create', 'update', 'patch', 'delete', 'list', 'scan'] as const
type Operation = (typeof operations)[number]
type Kind = 'policies' | 'entity' | 'token' | 'draft'
type Explained = Awaited<ReturnType<typeof explain>>['data']
type Rule = NonNullable<Explained['rule']>

/** Whether the token may ask about others. */
export function useMayExplain(): { readonly may: boolean; readonly isKnown: boolean } {
  const { can, isKnown } = useCapabilities([callPath])
  return { may: can(callPath, 'update') && can(callPath, 'sudo'), isKnown }
}

/** May somebody do something at a path, which rule decides, and why not. `draft`: the text in an editor. */
export function Workbench({ draft }: { readonly draft?: string }) {
  const policies = usePolicyChoices()
  const people = usePeopleChoices()
  const [kind, setKind] = useState<Kind>(draft === undefined ? 'policies' : 'draft')
  const [accessor, setAccessor] = useState('')
  const [names, setNames] = useState<readonly string[]>([])
  const [person, setPerson] = useState<readonly string[]>([])
  const [path, setPath] = useState('')
  const [operation, setOperation] = useState<Operation>('read')
  const [outcome, setOutcome] = useState<{ readonly found?: Explained; readonly error?: unknown }>({})
  const holder = {
    policies: { policies: [...names] },
    entity: { entity_id: person[0] ?? '' },
    token: { accessor: accessor.trim() },
    draft: { policy: draft ?? '' },
  }[kind]
  const ask = async (event: FormEvent) => {
    event.preventDefault()
    try {
      const { data } = await explain({ body: { path: path.trim(), operation, ...holder } })
      setOutcome({ found: data })
    } catch (error) {
      setOutcome({ error })
    }
  }
  const kinds: readonly Kind[] = [
    ...(draft === undefined ? [] : (['draft'] as const)),
    'policies',
    'entity',
    'token',
  ]
  return (
    <section className="panel" aria-labelledby="workbench">
      <h2 id="workbench">{text.title}</h2>
      <form className="filters" onSubmit={(event) => void ask(event)} autoComplete="off">
        <Select
          label={text.holder}
          value={kind}
          onChange={(value) => setKind(kinds.find((one) => one === value) ?? 'policies')}
          options={kinds.map((one) => [one, text.holders[one]] as const)}
        />
        {kind === 'policies' && (
          <Picker
            label={text.holders.policies}
            choices={policies}
            allowsOther
            value={names}
            onChange={setNames}
          />
        )}
        {kind === 'entity' && (
          <Picker
            label={text.holders.entity}
            choices={people}
            value={person}
            // one person: the latest
            onChange={(ids) => setPerson(ids.slice(-1))}
          />
        )}
        {kind === 'token' && (
          <Field label={strings.access.accessor} isRequired mono value={accessor} onChange={setAccessor} />
        )}
        <Select
          label={text.operation}
          value={operation}
          onChange={(value) => setOperation(operations.find((one) => one === value) ?? 'read')}
          options={operations.map((one) => [one, one] as const)}
        />
        <Field label={strings.access.path} isRequired mono value={path} onChange={setPath} />
        <div className="actions">
          <Button type="submit">{strings.access.ask}</Button>
        </div>
      </form>
      <Failure error={outcome.error} />
      <div role="status">{outcome.found !== undefined && <Verdict found={outcome.found} />}</div>
    </section>
  )
}

const Verdict = ({ found: { allowed, sudo, reason, rule, others } }: { readonly found: Explained }) => (
  <div className="stack">
    <p className={allowed ? 'verdict pass' : 'verdict fail'}>
      <strong>{allowed ? text.allowed : text.refused}</strong> {text.reasons[reason]}{' '}
      {allowed && (sudo ? text.withSudo : text.withoutSudo)}
    </p>
    {rule != null && (
      <p>
        {text.decides} <RuleLine rule={rule} />
      </p>
    )}
    {others.length > 0 && (
      <>
        <p>{text.others}</p>
        <ul>
          {others.map((other) => (
            <li key={other.path}>
              <RuleLine rule={other} />
            </li>
          ))}
        </ul>
      </>
    )}
  </div>
)

const RuleLine = ({ rule }: { readonly rule: Rule }) => (
  <>
    <code>{rule.path}</code>: {rule.capabilities.join(', ')}{' '}
    <span className="hint">({rule.policies.join(', ')})</span>
  </>
)
