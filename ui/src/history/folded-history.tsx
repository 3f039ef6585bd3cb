import { useState } from 'react'
import { strings } from '../strings.ts'
import { ObjectHistory } from './object-history.tsx'

/** The history of one of several objects on a page. It is read when somebody opens it. */
export function FoldedHistory({ name, path }: { readonly name: string; readonly path: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{strings.history.of(name)}</summary>
      {isOpen && <ObjectHistory path={path} />}
    </details>
  )
}
