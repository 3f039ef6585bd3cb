import { type FormEvent, useRef } from 'react'

/** An action of a button or a form. While it runs, pressing again does nothing: a double click creates one object. */
export function useAction(run: () => Promise<unknown>): (event?: FormEvent) => Promise<void> {
  const isRunning = useRef(false)
  return async (event) => {
    event?.preventDefault()
    if (isRunning.current) return
    isRunning.current = true
    try {
      await run()
    } finally {
      isRunning.current = false
    }
  }
}
