import { type ReactNode, useState } from 'react'
import { Confirm } from '../../components/confirm.tsx'
import { Field } from '../../components/field.tsx'
import { strings } from '../../strings.ts'

const text = strings.logins.guard

type Props = {
  readonly question: string
  /** The query of the call: with `guard`, the server refuses if more people would lose access. */
  readonly onConfirmed: (query: Readonly<Record<string, string>>) => Promise<unknown>
  readonly children: ReactNode
}

/** Deletes an object that logins need, unless more people than that would lose access. */
export function GuardedDelete({ question, onConfirmed, children }: Props) {
  const [most, setMost] = useState('0')
  return (
    <Confirm
      label={strings.logins.delete}
      question={question}
      action={strings.logins.delete}
      onConfirmed={() => onConfirmed(most.trim() === '' ? {} : { guard: most.trim() })}
    >
      {children}
      <Field label={text.most} hint={text.hint} type="number" value={most} onChange={setMost} />
    </Confirm>
  )
}
