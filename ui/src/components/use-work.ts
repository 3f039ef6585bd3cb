import { useEffect, useRef, useState } from 'react'

type State = { readonly step: 'idle' | 'running' | 'done' | 'cancelled' | 'failed'; readonly error?: unknown }

/** Long work that the person can cancel, and that ends with the page. */
export function useWork() {
  const running = useRef<AbortController>(undefined)
  const [{ step, error }, setState] = useState<State>({ step: 'idle' })
  useEffect(() => () => running.current?.abort(), [])
  const run = async (work: (signal: AbortSignal) => Promise<unknown>) => {
    const ended = new AbortController()
    running.current = ended
    setState({ step: 'running' })
    try {
      await work(ended.signal)
      setState({ step: ended.signal.aborted ? 'cancelled' : 'done' })
    } catch (failure) {
      setState(ended.signal.aborted ? { step: 'cancelled' } : { step: 'failed', error: failure })
    } finally {
      // after a failure, what goes on beside it ends, too
      ended.abort()
    }
  }
  return { step, error, run, cancel: () => running.current?.abort(), isRunning: step === 'running' }
}
