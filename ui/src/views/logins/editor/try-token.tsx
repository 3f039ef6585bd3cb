import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { type Explanation, explain } from '../../../api/logins.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { strings } from '../../../strings.ts'
import { DecodedJwt } from '../decoded-jwt.tsx'
import { ExplanationPanel } from '../explanation.tsx'
import type { Values } from './spec.ts'

const text = strings.logins.tryToken

type Props = {
  readonly mount: string
  readonly role: string
  /** The body that a save would send. */
  readonly fields: Values
  /** Changes the form. */
  readonly apply: (fields: Values) => void
  /** The token is the ID token that a provider gives a browser. */
  readonly isIdToken?: boolean
}

/** How a login with a JWT would go if the role were saved as it is in the form. The token stays in this box. */
export function TryToken({ mount, role, fields, apply, isIdToken = false }: Props) {
  const id = useId()
  const [jwt, setJwt] = useState('')
  const asking = useMutation({
    mutationFn: () =>
      explain({
        params: { jwt_mount_path: mount },
        body: { role, jwt: jwt.trim(), role_fields: { ...fields }, ...(isIdToken && { id_token: true }) },
      }),
    gcTime: 0,
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    asking.mutate()
  }
  const explanation = asking.data?.data
  return (
    <>
      <section className="panel" aria-labelledby={id}>
        <h3 id={id}>{text.title}</h3>
        <form className="stack" onSubmit={onSubmit} autoComplete="off">
          <Field
            label={isIdToken ? text.idToken : strings.login.jwt}
            hint={isIdToken ? text.idTokenHint : text.hint}
            rows={4}
            mono
            isRequired
            value={jwt}
            onChange={setJwt}
          />
          <div className="actions">
            <Button type="submit">{text.run}</Button>
          </div>
          <Failure error={asking.error} />
        </form>
      </section>
      <div aria-live="polite" className="stack">
        {explanation !== undefined && (
          <ExplanationPanel mount={mount} explanation={explanation}>
            <ApplyProposal explanation={explanation} role={role} apply={apply} />
          </ExplanationPanel>
        )}
      </div>
      {jwt.trim() !== '' && (
        <section className="panel">
          <DecodedJwt jwt={jwt} />
        </section>
      )}
    </>
  )
}

type ApplyProps = { readonly explanation: Explanation } & Pick<Props, 'role' | 'apply'>

function ApplyProposal({ explanation, role, apply }: ApplyProps) {
  const fields = proposalFor(explanation, role)
  if (fields === undefined) return null
  const isUnverified = proposalOf(explanation.proposals, `role/${role.toLowerCase()}`)?.unverified === true
  return (
    <>
      {isUnverified && <p className="finding">{strings.logins.editor.unverifiedProposal}</p>}
      <Button onPress={() => apply(fields)}>{text.apply}</Button>
    </>
  )
}

/** The fields of the role that would let a refused login in. */
export const proposalFor = ({ proposals = [] }: Explanation, role: string): Values | undefined =>
  proposalOf(proposals, `role/${role.toLowerCase()}`)?.fields

/** The change of one object that would let a refused login in. */
export const proposalOf = (
  proposals: Explanation['proposals'],
  path: string,
): NonNullable<Explanation['proposals']>[number] | undefined =>
  proposals?.find((proposal) => proposal.path === path)
