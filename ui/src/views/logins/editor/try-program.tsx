import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { visible } from '../../../components/visible.ts'
import { strings } from '../../../strings.ts'
import { decoded } from '../decoded-jwt.tsx'
import { tryProgram } from './calls.ts'
import { programOf } from './program.ts'

const text = strings.logins.cel

/** Runs a program on claims before it is saved. It sends only the claims, not the token. */
export function TryProgram({ mount, program }: { readonly mount: string; readonly program: unknown }) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const asking = useMutation({
    mutationFn: () =>
      tryProgram({
        params: { jwt_mount_path: mount },
        body: { cel_program: { ...programOf(program) }, claims: claimsOf(typed) },
      }),
    gcTime: 0,
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    asking.mutate()
  }
  return (
    <section className="panel" aria-labelledby={id}>
      <h3 id={id}>{text.tryTitle}</h3>
      <form className="stack" onSubmit={onSubmit} autoComplete="off">
        <Field
          label={text.claims}
          hint={text.claimsHint}
          rows={5}
          mono
          isRequired
          value={typed}
          onChange={setTyped}
        />
        <div className="actions">
          <Button type="submit">{text.run}</Button>
        </div>
        <Failure error={asking.error} />
      </form>
      <div aria-live="polite">{asking.data !== undefined && <Outcome outcome={asking.data.data} />}</div>
    </section>
  )
}

/** The claims of a JWT, or claims as JSON. */
function claimsOf(typed: string): Record<string, unknown> {
  const claims = decoded(typed)?.claims ?? JSON.parse(typed)
  return { ...Object(claims) }
}

function Outcome({
  outcome: { error, variables, result },
}: {
  readonly outcome: Awaited<ReturnType<typeof tryProgram>>['data']
}) {
  return (
    <>
      {error !== '' && <p className="finding">{error}</p>}
      {result != null && (
        <>
          <p className={result.kind === 'auth' ? 'verdict pass' : 'verdict fail'}>
            {text.outcomes[result.kind]}
          </p>
          <pre>
            <code>{visible(JSON.stringify(result.value, null, 2))}</code>
          </pre>
        </>
      )}
      {variables.length > 0 && (
        <dl className="facts">
          {variables.map(({ name, value, error: wrong }) => (
            <div key={name}>
              <dt className="mono">{name}</dt>
              <dd>
                {wrong === '' ? <code>{visible(value)}</code> : <span className="finding">{wrong}</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  )
}
