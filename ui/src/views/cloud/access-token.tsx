import { useState } from 'react'
import { endAfter } from '../../api/clock.ts'
import { Button } from '../../components/button.tsx'
import { errorOfField, Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Secret } from '../../components/secret.tsx'
import { Time } from '../../components/time.tsx'
import { useAction } from '../../components/use-action.ts'
import { strings } from '../../strings.ts'

const text = strings.cloud

type Token = { readonly access_token: string; readonly expires_in: number }

type Props = {
  /** Requests a token for one resource. */
  readonly request: (scope: string) => Promise<{ readonly data: Token }>
  /** What the role allows; empty for everything. */
  readonly scopes: readonly string[]
}

/** An access token of a role. It has no lease and ends by itself. */
export function AccessToken({ request, scopes }: Props) {
  const [scope, setScope] = useState(scopes[0] ?? 'https://management.azure.com/.default')
  const [outcome, setOutcome] = useState<{ token?: string; end?: string; error?: unknown }>({})
  const submit = useAction(async () => {
    try {
      const { access_token: token, expires_in: seconds } = (await request(scope.trim())).data
      setOutcome({ token, end: new Date(endAfter(seconds)).toISOString() })
    } catch (error) {
      setOutcome({ error })
    }
  })
  const wrongScope = errorOfField(outcome.error, 'scope')
  return (
    <section className="panel" aria-labelledby="access-token">
      <h2 id="access-token">{text.accessToken}</h2>
      <p className="hint">{text.accessTokenHint}</p>
      <form className="one-line" onSubmit={(event) => void submit(event)}>
        <Field
          label={text.scope}
          hint={text.scopeHint}
          isRequired
          mono
          value={scope}
          error={wrongScope}
          onChange={setScope}
        />
        <Button type="submit">{text.getToken}</Button>
      </form>
      {wrongScope === undefined && <Failure error={outcome.error} />}
      <div role="status">
        {outcome.token !== undefined && outcome.end !== undefined && (
          <dl className="facts">
            <dt>{text.accessToken}</dt>
            <dd>
              <Secret value={outcome.token} label={text.accessToken} />
            </dd>
            <dt>{text.ends}</dt>
            <dd>
              <Time at={outcome.end} />
            </dd>
          </dl>
        )}
      </div>
    </section>
  )
}
