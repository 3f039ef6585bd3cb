import type { ReactNode } from 'react'
import { strings } from '../strings.ts'

/** What a view without content shows: what it is for, and how to begin. */
export const EmptyState = ({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ReactNode
}) => (
  <section className="empty-state">
    <h2>{title}</h2>
    <div>{children}</div>
  </section>
)

/** Below a list without rows: its filter matches none. */
export const NoMatch = () => (
  <p className="hint" role="status">
    {strings.noMatch}
  </p>
)
