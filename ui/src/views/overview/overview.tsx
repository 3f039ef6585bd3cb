import { useState } from 'react'
import { lookupSelf } from '../../api/auth.ts'
import { resultantAcl } from '../../api/server.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Secret } from '../../components/secret.tsx'
import { shortDuration, Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { visible } from '../../components/visible.ts'
import { session } from '../../session/session.ts'
import { logOut, type OwnToken, useRenewal, useSelf, useTimeLeft } from '../../session/use-self.ts'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import { FirstSteps } from './first-steps.tsx'
import { Groups } from './groups.tsx'
import { Reach } from './reach.tsx'
import './overview.css'

const text = strings.home

export function View() {
  return (
    <div className="view">
      <ViewHeader
        title={strings.views['home'] ?? ''}
        requests={[lookupSelf.request({}), resultantAcl.request({})]}
      />
      <FirstSteps />
      <div className="home">
        <WhoAmI />
        <Reach />
      </div>
    </div>
  )
}

function WhoAmI() {
  const self = useSelf()
  if (self === undefined) return null
  return (
    <section className="panel" aria-labelledby="who-am-i">
      <h2 id="who-am-i">{text.whoAmI}</h2>
      <dl className="facts">
        <dt>{text.name}</dt>
        <dd>{visible(self.display_name)}</dd>
        <dt>{text.policies}</dt>
        <dd>
          <Policies self={self} />
        </dd>
        <dt>{text.from}</dt>
        <dd className="mono">{self.path}</dd>
        {self.entity_id !== '' && (
          <>
            <dt>{text.entity}</dt>
            <dd>
              <Who id={self.entity_id} />
            </dd>
            <Groups entity={self.entity_id} />
          </>
        )}
        <dt>{strings.login.token}</dt>
        <dd>
          <Secret value={session.token ?? ''} label={strings.login.token} />
        </dd>
        <dt>{text.accessor}</dt>
        <dd className="mono">{self.accessor}</dd>
        <dt>{text.ttl}</dt>
        <dd>
          <TimeLeft self={self} />
        </dd>
      </dl>
      <TokenActions self={self} />
    </section>
  )
}

const Policies = ({ self }: { readonly self: OwnToken }) => (
  <ul className="tags">
    {[...new Set([...self.policies, ...(self.identity_policies ?? [])])].map((name) => (
      <li key={name}>{name}</li>
    ))}
  </ul>
)

function TimeLeft({ self }: { readonly self: OwnToken }) {
  const left = useTimeLeft(self)
  if (left === undefined || self.expire_time === null) return text.unlimited
  return (
    <>
      {shortDuration(left)} (<Time at={self.expire_time} />)
    </>
  )
}

function TokenActions({ self }: { readonly self: OwnToken }) {
  const renew = useRenewal()
  const [error, setError] = useState<unknown>()
  return (
    <>
      <div className="actions">
        {self.renewable === true && (
          <Button onPress={() => void renew().then(() => setError(undefined), setError)}>
            {strings.session.renew}
          </Button>
        )}
        <Confirm
          label={text.revoke}
          question={text.revokeQuestion(self.display_name)}
          action={text.revoke}
          onConfirmed={logOut}
        >
          <p>{text.revokeHint}</p>
        </Confirm>
      </div>
      <Failure error={error} />
    </>
  )
}
