import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { revokePrefix } from '../../api/leases.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { useWork } from '../../components/use-work.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { notBegun, type Revocation, revokeBelow } from './revoke-below.ts'

const text = strings.leases

/** Tokens are revoked by the server alone, in one call: no provider is asked, and one of them may be the own one. */
const areTokens = (prefix: string): boolean => prefix.startsWith('auth/')

/** The revocation of all leases below a prefix: whether the token may do it, how far it is, and how it is cancelled. */
export function useRevocation(prefix: string) {
  const client = useQueryClient()
  const callPath = `sys/leases/revoke-prefix/${areTokens(prefix) ? prefix.replace(/\/$/, '') : `${prefix}x`}`
  const { can } = useCapabilities([callPath])
  const [state, setState] = useState<Revocation>()
  const { run, cancel, isRunning, error } = useWork()
  const changed = () => client.invalidateQueries({ queryKey: ['leases'] })
  const revokeEach = (signal: AbortSignal) => {
    setState(notBegun)
    return revokeBelow(prefix, signal, setState)
  }
  // one that was under way may report after the end
  const isStopped = state !== undefined && state.step !== 'done' && !isRunning
  return {
    may: prefix !== '' && can(callPath, 'update') && can(callPath, 'sudo'),
    mayCancel: !areTokens(prefix),
    state: isStopped ? { ...state, step: 'stopped' as const } : state,
    error,
    isRunning,
    cancel,
    /** Resolves as soon as it has begun, or for tokens when it is done. */
    begin: async () => {
      if (!areTokens(prefix)) return void run(revokeEach).finally(changed)
      await revokePrefix({ params: { path: prefix.replace(/\/$/, '') }, body: {} })
      await changed()
    },
  }
}

export function RevocationPanel({
  state,
  error,
  isRunning,
  cancel,
}: Pick<ReturnType<typeof useRevocation>, 'state' | 'error' | 'isRunning' | 'cancel'>) {
  if (state === undefined) return null
  return (
    <section className="panel" aria-label={text.revokeAll}>
      <p role="status" aria-live={isRunning ? 'off' : 'polite'}>
        {text.revocation(state)}
      </p>
      {isRunning && (
        <>
          <progress
            aria-label={text.revokeAll}
            {...(state.step === 'revoking' && { max: state.found, value: state.revoked + state.failed })}
          />
          <div className="actions">
            <Button onPress={cancel}>{strings.cancel}</Button>
          </div>
        </>
      )}
      <Failure error={error ?? state.failure} />
    </section>
  )
}
