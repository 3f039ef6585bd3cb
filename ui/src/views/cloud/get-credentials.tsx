import { useEffect, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { useAction } from '../../components/use-action.ts'
import { strings } from '../../strings.ts'
import { getCredentials, type Issued } from './calls.ts'
import { IssuedCredentials } from './issued.tsx'

const text = strings.cloud

const limitSeconds = 60

/** The server responds once the cloud accepts the new secret. */
export const readyQuery = { wait: 'ready', wait_limit: String(limitSeconds) }

type Props = { readonly mount: string; readonly name: string }

/** Requests credentials, which exist in this page only until it is left. */
export function GetCredentials({ mount, name }: Props) {
  const [outcome, setOutcome] = useState<{ readonly issued?: Issued; readonly error?: unknown }>({})
  const [waiting, setWaiting] = useState<AbortController>()
  const left = useRef<AbortController>(undefined)
  useEffect(() => () => left.current?.abort(), [])
  const request = useAction(async () => {
    const controller = new AbortController()
    left.current = controller
    setWaiting(controller)
    setOutcome({})
    try {
      const params = { cloud_mount_path: mount, name }
      const issued = await getCredentials({ params, query: readyQuery }, { signal: controller.signal })
      setOutcome({ issued })
    } catch (error) {
      if (!controller.signal.aborted) setOutcome({ error })
    } finally {
      setWaiting(undefined)
    }
  })
  return (
    <section className="panel" aria-labelledby="credentials">
      <h2 id="credentials">{text.credentials}</h2>
      {waiting === undefined ? (
        <>
          <p className="hint">{text.waits(limitSeconds)}</p>
          <div className="actions">
            <Button kind="primary" onPress={() => void request()}>
              {outcome.issued === undefined ? text.get : text.getMore}
            </Button>
          </div>
        </>
      ) : (
        <Waiting onCancel={() => waiting.abort()} />
      )}
      <Failure error={outcome.error} />
      {outcome.issued !== undefined && (
        <IssuedCredentials key={outcome.issued.lease_id} issued={outcome.issued} />
      )}
    </section>
  )
}

function Waiting({ onCancel }: { readonly onCancel: () => void }) {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <p role="status">{text.waiting}</p>
      <div className="waiting">
        <progress value={seconds} max={limitSeconds} aria-label={text.waiting} />
        <span>{text.waited(seconds, limitSeconds)}</span>
      </div>
      <div className="actions">
        <Button onPress={onCancel}>{strings.cancel}</Button>
        <span className="hint">{text.cancelHint}</span>
      </div>
    </>
  )
}
