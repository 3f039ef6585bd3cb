import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { dataOrNull, keysOf } from '../../api/errors.ts'
import { listPolicies } from '../../api/people.ts'
import { capabilitiesSelf } from '../../api/server.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { List } from '../../components/list.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { deletePolicy, readPolicy } from './calls.ts'
import { PolicyText } from './policy-text.tsx'
import { useMayExplain, Workbench } from './workbench.tsx'

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
  const { may, isKnown: isAskKnown } = useMayExplain()
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
      {isAskKnown && (may ? <Workbench /> : <MayI />)}
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
      {/* also of a policy that was deleted */}
      {data !== undefined && name !== 'root' && <ObjectHistory path={path} />}
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
