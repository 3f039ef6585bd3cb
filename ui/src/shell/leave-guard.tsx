import { useBlocker } from '@tanstack/react-router'
import { lazy, Suspense, useEffect } from 'react'
import { isAnythingUnsaved, useIsAnythingUnsaved } from '../components/unsaved.ts'

export const LeaveDialog = lazy(async () => ({ default: (await import('./leave-dialog.tsx')).LeaveDialog }))

/** Asks before a link, the back button or the browser takes a person away from what they have not saved. */
export function LeaveGuard() {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && isAnythingUnsaved(),
    enableBeforeUnload: isAnythingUnsaved,
    withResolver: true,
  })
  const isMoot = !useIsAnythingUnsaved()
  // the form was saved while the question was open
  useEffect(() => {
    if (status === 'blocked' && isMoot) proceed()
  }, [status, isMoot, proceed])
  return status === 'blocked' ? (
    <Suspense>
      <LeaveDialog onStay={reset} onLeave={proceed} />
    </Suspense>
  ) : null
}
