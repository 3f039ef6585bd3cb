import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { explain } from '../../api/logins.ts'
import { Button } from '../../components/button.tsx'
import { CopyAs } from '../../components/copy-as.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { DecodedJwt } from './decoded-jwt.tsx'
import { FixLogin } from './editor/fix-login.tsx'
import { ExplanationPanel } from './explanation.tsx'

const text = strings.logins

/** How a login with a JWT would go. The token stays in this form; only the explanation is asked with it. */
export function Explain({ mount }: { readonly mount: string }) {
  const { search } = usePlace()
  const [jwt, setJwt] = useState('')
  const [role, setRole] = useState(search['role'] ?? '')
  const [address, setAddress] = useState('')
  const params = { jwt_mount_path: mount }
  const optional = { ...(role !== '' && { role }), ...(address !== '' && { remote_address: address }) }
  const asking = useMutation({
    mutationFn: () => explain({ params, body: { ...optional, jwt: jwt.trim() } }),
    gcTime: 0,
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    asking.mutate()
  }
  return (
    <div className="beside">
      <section className="panel" aria-label={text.tabs.explain}>
        <form className="stack" onSubmit={onSubmit} autoComplete="off">
          <Field
            label={strings.login.jwt}
            hint={text.jwtHint}
            rows={8}
            mono
            isRequired
            value={jwt}
            onChange={setJwt}
          />
          <DecodedJwt jwt={jwt} />
          <Field label={text.role} optional hint={strings.login.roleHint} value={role} onChange={setRole} />
          <Field
            label={text.address}
            optional
            mono
            hint={text.addressHint}
            value={address}
            onChange={setAddress}
          />
          <div className="actions">
            <Button kind="primary" type="submit">
              {text.tabs.explain}
            </Button>
            <CopyAs requests={[explain.request({ params, body: { ...optional, jwt: '$JWT' } })]} />
          </div>
        </form>
      </section>
      <div aria-live="polite" className="stack">
        <Failure error={asking.error} />
        {asking.data !== undefined && (
          <>
            <FixLogin mount={mount} explanation={asking.data.data} onSaved={() => asking.mutate()} />
            <ExplanationPanel mount={mount} explanation={asking.data.data} />
          </>
        )}
      </div>
    </div>
  )
}
