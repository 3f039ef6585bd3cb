import type { ReactNode } from 'react'
import type { ApiRequest } from '../api/request.ts'
import { CopyAs, type NamedCommand } from './copy-as.tsx'
import { visible } from './visible.ts'

type Props = {
  readonly title: string
  /** The calls that the view makes, for "copy as". */
  readonly requests?: readonly ApiRequest[]
  /** Further commands for the same, made for a client. */
  readonly commands?: readonly NamedCommand[]
  /** Its actions. */
  readonly children?: ReactNode
}

export const ViewHeader = ({ title, requests = [], commands = [], children }: Props) => (
  <header className="view-header">
    <h1>{visible(title)}</h1>
    <div className="actions">
      {children}
      {requests.length + commands.length > 0 && <CopyAs requests={requests} commands={commands} />}
    </div>
  </header>
)
