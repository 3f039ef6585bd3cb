import { type ReactNode, useState } from 'react'
import { Confirm } from '../../components/confirm.tsx'
import { GuardField, guardQuery, strictest } from '../../components/guard-field.tsx'
import { strings } from '../../strings.ts'

type Props = {
  readonly question: string
  /** The query of the call: with `guard`, the server refuses if more people would lose access. */
  readonly onConfirmed: (query: Readonly<Record<string, string>>) => Promise<unknown>
  readonly children: ReactNode
}

/** Deletes an object that logins need, unless more people than that would lose access. */
export function GuardedDelete({ question, onConfirmed, children }: Props) {
  const [most, setMost] = useState(strictest)
  return (
    <Confirm
      label={strings.logins.delete}
      question={question}
      action={strings.logins.delete}
      onConfirmed={() => onConfirmed(guardQuery(most))}
    >
      {children}
      <GuardField most={most} onChange={setMost} />
    </Confirm>
  )
}
