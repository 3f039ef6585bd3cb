import type { ReactNode } from 'react'
import type { ApiRequest } from '../api/request.ts'
import { CopyAs } from './copy-as.tsx'

type Props = {
  readonly title: string
  /** The calls that the view makes, for "copy as". */
  readonly requests?: readonly ApiRequest[]
  /** Its actions. */
  readonly children?: ReactNode
}

export const ViewHeader = ({ title, requests = [], children }: Props) => (
  <header className="view-header">
    <h1>{title}</h1>
    <div className="actions">
      {children}
      {requests.length > 0 && <CopyAs requests={requests} />}
    </div>
  </header>
)
