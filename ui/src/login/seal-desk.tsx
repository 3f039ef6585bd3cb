import { type FormEvent, useState } from 'react'
import type { SealStatus } from '../api/server.ts'
import { Button } from '../components/button.tsx'
import { Failure } from '../components/failure.tsx'
import { Field } from '../components/field.tsx'
import { strings } from '../strings.ts'
import { NewKeys } from './new-keys.tsx'
import { initialize, type MadeKeys, unseal } from './seal-calls.ts'
import './seal-desk.css'
import { useAction } from '../components/use-action.ts'

const text = strings.seal

type Props = {
  readonly status: SealStatus
  /** Keys are on the screen that the server shows once: nothing may take their place. */
  readonly hold: (isHeld: boolean) => void
  /** Asks the server for its state. */
  readonly again: () => void
}

/** A server that serves nothing yet: the first keys of a new store, and the shares that unseal it. */
export function SealDesk({ status, hold, again }: Props) {
  const [made, setMade] = useState<MadeKeys>()
  if (made !== undefined)
    return (
      <NewKeys
        keys={made}
        onStored={() => {
          setMade(undefined)
          hold(false)
          again()
        }}
      />
    )
  if (status.initialized) return <Unseal status={status} again={again} />
  return (
    <Initialize
      isShamir={status.type === 'shamir'}
      onMade={(keys) => {
        hold(true)
        setMade(keys)
      }}
    />
  )
}

function Unseal({ status, again }: Pick<Props, 'status' | 'again'>) {
  const [share, setShare] = useState('')
  const [error, setError] = useState<unknown>()
  const send = async (body: { key: string } | { reset: true }) => {
    try {
      await unseal({ body }, { token: null })
      setError(undefined)
    } catch (refusal) {
      setError(refusal)
    }
    setShare('')
    again()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void send({ key: share.trim() })
  }
  const hasShares = status.n > 1
  return (
    <section className="seal" aria-label={text.unseal}>
      <div role="status">
        <h2>{strings.serverState.sealed}</h2>
        <p>{strings.serverState.sealedNext}</p>
        <p>
          {text.type}: {status.type}
        </p>
        {hasShares && <p>{text.progress(status.progress, status.t, status.n)}</p>}
      </div>
      {hasShares && <progress value={status.progress} max={status.t} aria-label={text.progressLabel} />}
      <form className="login-form" onSubmit={submit} autoComplete="off">
        <Field
          label={hasShares ? text.share : text.key}
          hint={hasShares ? text.shareHint : text.keyHint}
          type="password"
          autoComplete="off"
          isRequired
          value={share}
          onChange={setShare}
        />
        <Failure error={error} />
        <Button type="submit" kind="primary">
          {hasShares ? text.give : text.unseal}
        </Button>
        {status.progress > 0 && <Button onPress={() => void send({ reset: true })}>{text.reset}</Button>}
      </form>
    </section>
  )
}

type InitializeProps = { readonly isShamir: boolean; readonly onMade: (keys: MadeKeys) => void }

function Initialize({ isShamir, onMade }: InitializeProps) {
  const [shares, setShares] = useState('5')
  const [threshold, setThreshold] = useState('3')
  const [error, setError] = useState<unknown>()
  const submit = useAction(async () => {
    const [all, needed] = [Number(shares), Number(threshold)]
    const body = isShamir
      ? { secret_shares: all, secret_threshold: needed }
      : { recovery_shares: all, recovery_threshold: needed }
    try {
      onMade(await initialize({ body }, { token: null }))
    } catch (refusal) {
      setError(refusal)
    }
  })
  return (
    <section className="seal" aria-label={text.initialize}>
      <div role="status">
        <h2>{strings.serverState.uninitialized}</h2>
        <p>{strings.serverState.uninitializedNext}</p>
      </div>
      <form className="login-form" onSubmit={(event) => void submit(event)}>
        <p>{isShamir ? text.plan : text.recoveryPlan}</p>
        <Field label={text.shares} type="number" isRequired value={shares} onChange={setShares} />
        <Field
          label={text.threshold}
          hint={text.thresholdHint}
          type="number"
          isRequired
          value={threshold}
          onChange={setThreshold}
        />
        <Failure error={error} />
        <Button type="submit" kind="primary">
          {text.initialize}
        </Button>
      </form>
    </section>
  )
}
