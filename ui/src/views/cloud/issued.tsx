import { Fragment, useState } from 'react'
import { endAfter } from '../../api/clock.ts'
import { renewLease, revokeLease } from '../../api/leases.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyButton } from '../../components/copy-as.tsx'
import { Failure } from '../../components/failure.tsx'
import { Secret } from '../../components/secret.tsx'
import { shortDuration, Time } from '../../components/time.tsx'
import { useCountdown } from '../../session/use-countdown.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import type { Issued } from './calls.ts'

const text = strings.cloud

/** What credentials consist of; each type of role has some of it. */
const parts = [
  { name: 'client_secret', label: text.clientSecret, isSecret: true },
  { name: 'client_assertion', label: text.clientAssertion, isSecret: true },
  { name: 'private_key', label: text.privateKey, isSecret: true },
  { name: 'certificate', label: text.certificate, isSecret: false },
  { name: 'tenant_id', label: text.fields.tenant_id, isSecret: false },
  { name: 'token_endpoint', label: text.tokenEndpoint, isSecret: false },
] as const

/** Credentials that were just issued. The secret leaves the page when they end. */
export function IssuedCredentials({ issued }: { readonly issued: Issued }) {
  const { lease_id: lease, data, warnings } = issued
  const { can } = useCapabilities(['sys/leases/renew', 'sys/leases/revoke'])
  const [end, setEnd] = useState(() => endAfter(data.expires_in ?? issued.lease_duration))
  const [isRevoked, setRevoked] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const left = useCountdown(end)
  if (isRevoked || left === 0)
    return (
      <p className="note" role="status">
        {isRevoked ? text.revoked : text.ended}
      </p>
    )
  const renew = async () => {
    try {
      const { lease_duration: seconds } = await renewLease({ body: { lease_id: lease } })
      setEnd(endAfter(seconds))
      setFailure(undefined)
    } catch (refusal) {
      setFailure(refusal)
    }
  }
  return (
    <div className="stack">
      <p role="status">{(warnings ?? []).join('\n')}</p>
      <dl className="facts">
        <dt>{text.clientId}</dt>
        <dd>
          <code>{data.client_id}</code> <CopyButton text={data.client_id} label={text.copyId} />
        </dd>
        {parts.map(({ name, label, isSecret }) => {
          const value = data[name]
          return value === undefined ? null : (
            <Fragment key={name}>
              <dt>{label}</dt>
              <dd>
                {isSecret ? (
                  <Secret value={value} label={label} />
                ) : (
                  <>
                    <code>{value}</code> <CopyButton text={value} of={label} />
                  </>
                )}
              </dd>
            </Fragment>
          )
        })}
        <dt>{text.timeLeft}</dt>
        <dd>
          <span role="timer" aria-live="off">
            {shortDuration(left)}
          </span>{' '}
          (<Time at={new Date(end).toISOString()} />)
        </dd>
        {lease !== '' && (
          <>
            <dt>{text.lease}</dt>
            <dd className="mono">{lease}</dd>
          </>
        )}
      </dl>
      <p className="hint">{text.shownOnce}</p>
      <Failure error={failure} />
      <div className="actions">
        {issued.renewable && can('sys/leases/renew', 'update') && (
          <Button onPress={() => void renew()}>{text.renew}</Button>
        )}
        {lease !== '' && can('sys/leases/revoke', 'update') && (
          <Confirm
            label={text.revoke}
            question={text.revokeQuestion(data.client_id)}
            action={text.revoke}
            onConfirmed={async () => {
              await revokeLease({ body: { lease_id: lease, sync: true } })
              setRevoked(true)
            }}
          >
            <p>{text.revokeHint}</p>
          </Confirm>
        )}
      </div>
    </div>
  )
}
