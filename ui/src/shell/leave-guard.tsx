import { useBlocker } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { isAnythingUnsaved } from '../components/unsaved.ts'

export const LeaveDialog = lazy(async () => ({ default: (await import('./leave-dialog.tsx')).LeaveDialog }))

/** Asks before a link, the back button or the browser takes a person away from what they have not saved. */
export function LeaveGuard() {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && isAnythingUnsaved(),
    enableBeforeUnload: isAnythingUnsaved,
    withResolver: true,
  })
  return status === 'blocked' ? (
    <Suspense>
      <LeaveDialog onStay={reset} onLeave={proceed} />
    </Suspense>
  ) : null
}
