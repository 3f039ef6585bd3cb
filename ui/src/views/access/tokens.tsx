import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { withEnd } from '../../api/clock.ts'
import { tidyTokens } from '../../api/tidy.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Picker } from '../../components/picker.tsx'
import { Secret } from '../../components/secret.tsx'
import { Time } from '../../components/time.tsx'
import { TimeLeft } from '../../components/time-left.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { visible } from '../../components/visible.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { usePolicyChoices } from '../../shell/people.ts'
import { Tidy } from '../../shell/tidy.tsx'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import { AllTokens } from './all-tokens.tsx'
import { createToken, lookUpAccessor, revokeAccessor, type TokenFacts } from './calls.ts'

const text = strings.access

const paths = {
  create: 'auth/token/create',
  lookUp: 'auth/token/lookup-accessor',
  revoke: 'auth/token/revoke-accessor',
  list: 'auth/token/accessors/',
} as const

export function Tokens({ object }: { readonly object: string | undefined }) {
  const { can } = useCapabilities(Object.values(paths))
  return (
    <>
      <ViewHeader
        title={text.tabs.tokens}
        requests={[
          lookUpAccessor.request({ body: { accessor: object ?? '…' } }),
          createToken.request({ body: { policies: ['default'], ttl: '1h' } }),
        ]}
      />
      {can(paths.lookUp, 'update') && <OpenAccessor accessor={object ?? ''} />}
      {object !== undefined && <Token accessor={object} mayRevoke={can(paths.revoke, 'update')} />}
      {object === undefined &&
        can(paths.list, 'list') &&
        can(paths.list, 'sudo') &&
        can(paths.lookUp, 'update') && <AllTokens />}
      {can(paths.create, 'update') && <NewToken />}
      {object === undefined && (
        <Tidy path="auth/token/tidy" hint={text.tidyTokensHint} run={() => tidyTokens({})} />
      )}
    </>
  )
}

function OpenAccessor({ accessor }: { readonly accessor: string }) {
  const go = useGo()
  const [typed, setTyped] = useState(accessor)
  return (
    <form
      className="one-line"
      onSubmit={(event) => {
        event.preventDefault()
        go({ view: 'access', parts: ['tokens', typed.trim()] })
      }}
    >
      <Field
        label={text.accessor}
        hint={text.accessorHint}
        isRequired
        mono
        value={typed}
        onChange={setTyped}
      />
      <Button type="submit">{text.lookUp}</Button>
    </form>
  )
}

function Token({ accessor, mayRevoke }: { readonly accessor: string; readonly mayRevoke: boolean }) {
  const client = useQueryClient()
  const go = useGo()
  const { data, error } = useQuery({
    queryKey: ['token', accessor],
    retry: false,
    queryFn: async ({ signal }) => withEnd((await lookUpAccessor({ body: { accessor } }, { signal })).data),
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  return (
    <section className="panel" aria-labelledby="token">
      <h2 id="token">{visible(data.display_name)}</h2>
      <TokenFactList token={data} />
      {mayRevoke && (
        <div className="actions">
          <Confirm
            label={text.revoke}
            question={text.revokeQuestion(data.display_name)}
            action={text.revoke}
            onConfirmed={async () => {
              await revokeAccessor({ body: { accessor } })
              await client.invalidateQueries({ queryKey: ['tokens'] })
              go({ view: 'access', parts: ['tokens'] })
            }}
          >
            <p>{text.revokeHint}</p>
          </Confirm>
        </div>
      )}
    </section>
  )
}

const TokenFactList = ({ token }: { readonly token: TokenFacts & { readonly end: number } }) => (
  <dl className="facts">
    <dt>{text.policies}</dt>
    <dd>{[...new Set([...token.policies, ...(token.identity_policies ?? [])])].join(', ')}</dd>
    <dt>{text.from}</dt>
    <dd className="mono">{token.path}</dd>
    <dt>{text.type}</dt>
    <dd>{token.orphan ? `${token.type}, ${text.orphan}` : token.type}</dd>
    {token.entity_id !== '' && (
      <>
        <dt>{text.entity}</dt>
        <dd>
          <Who id={token.entity_id} />
        </dd>
      </>
    )}
    <dt>{text.created}</dt>
    <dd>
      <Time at={new Date(token.creation_time * 1000).toISOString()} />
    </dd>
    <dt>{text.uses}</dt>
    <dd>{token.num_uses > 0 ? token.num_uses : text.unlimited}</dd>
    <dt>{text.timeLeft}</dt>
    <dd>
      {token.expire_time === null ? text.unlimited : <TimeLeft end={token.end} at={token.expire_time} />}
    </dd>
  </dl>
)

function NewToken() {
  const client = useQueryClient()
  const choices = usePolicyChoices()
  const [policies, setPolicies] = useState<readonly string[]>(['default'])
  const [ttl, setTtl] = useState('1h')
  const [name, setName] = useState('')
  const markSaved = useUnsaved([policies, ttl, name])
  const [outcome, setOutcome] = useState<{
    auth?: { client_token: string; accessor: string }
    warnings?: readonly string[]
    error?: unknown
  }>({})
  const create = useAction(async () => {
    try {
      const { auth, warnings } = await createToken({
        body: { policies: [...policies], ttl, display_name: name },
      })
      markSaved()
      setOutcome({ auth, warnings: warnings ?? [] })
      await client.invalidateQueries({ queryKey: ['tokens'] })
    } catch (error) {
      setOutcome({ error })
    }
  })
  return (
    <section className="panel" aria-labelledby="new-token">
      <h2 id="new-token">{text.newToken}</h2>
      <form className="filters" onSubmit={(event) => void create(event)} autoComplete="off">
        <Picker label={text.policies} choices={choices} allowsOther value={policies} onChange={setPolicies} />
        <Field label={text.ttl} hint={text.ttlHint} value={ttl} onChange={setTtl} />
        <Field label={text.displayName} optional value={name} onChange={setName} />
        <div className="actions">
          <Button type="submit">{text.createToken}</Button>
        </div>
      </form>
      <Failure error={outcome.error} />
      <div role="status">
        {(outcome.warnings ?? []).map((warning) => (
          <p key={warning} className="note">
            {warning}
          </p>
        ))}
        {outcome.auth !== undefined && (
          <dl className="facts">
            <dt>{strings.login.token}</dt>
            <dd>
              <Secret value={outcome.auth.client_token} label={strings.login.token} />
            </dd>
            <dt>{text.accessor}</dt>
            <dd>
              <PlaceLink view="access" parts={['tokens', outcome.auth.accessor]}>
                {outcome.auth.accessor}
              </PlaceLink>
            </dd>
          </dl>
        )}
      </div>
    </section>
  )
}
