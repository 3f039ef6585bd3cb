import type { ReactNode } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { strings } from '../strings.ts'
import type { View } from '../views/views.ts'
import { ViewLoading } from './outcomes.tsx'
import { useAllowedViews } from './view-access.ts'

/** Shows a view to those who may use it. */
export function Guarded({ view, children }: { readonly view: View; readonly children: ReactNode }) {
  const { allowed, isKnown } = useAllowedViews()
  if (!allowed.includes(view))
    return isKnown ? <EmptyState title={strings.shell.notAllowed} /> : <ViewLoading />
  return children
}
