import { useQuery } from '@tanstack/react-query'
import { Fragment } from 'react'
import { Command } from '../../components/copy-as.tsx'
import { Failure } from '../../components/failure.tsx'
import { strings } from '../../strings.ts'
import { readIdentity } from './calls.ts'

const text = strings.cloud

const facts = ['client_id', 'issuer', 'subject', 'role_subject', 'audience', 'jwks_uri'] as const

/** How the mount signs in to the cloud, and the commands that make the cloud trust it. */
export function SignIn({ mount }: { readonly mount: string }) {
  const { data, error } = useQuery({
    queryKey: ['cloud-identity', mount],
    queryFn: async ({ signal }) =>
      (await readIdentity({ params: { cloud_mount_path: mount } }, { signal })).data,
  })
  return (
    <section className="panel" aria-labelledby="sign-in">
      <h2 id="sign-in">{text.signIn}</h2>
      <Failure error={error} />
      {data !== undefined && (
        <>
          <p>{data.auth_type === '' ? text.noSignIn : (text.signIns[data.auth_type] ?? data.auth_type)}</p>
          <dl className="facts">
            {facts
              .filter((name) => data[name] !== '')
              .map((name) => (
                <Fragment key={name}>
                  <dt>{text.signInFacts[name]}</dt>
                  <dd className="mono">{data[name]}</dd>
                </Fragment>
              ))}
          </dl>
          {data.commands.length > 0 && (
            <>
              <h3>{text.setUp}</h3>
              <p className="hint">{text.setUpHint}</p>
              {data.commands.map((command) => (
                <Command key={command} name="" text={command} />
              ))}
            </>
          )}
        </>
      )}
    </section>
  )
}
