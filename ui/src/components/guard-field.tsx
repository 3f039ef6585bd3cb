import { strings } from '../strings.ts'
import { Field } from './field.tsx'

const text = strings.guard

type Props = { readonly most: string; readonly onChange: (most: string) => void }

/** How many of those who logged in recently a change may lock out. */
export const GuardField = ({ most, onChange }: Props) => (
  <Field label={text.most} hint={text.hint} type="number" value={most} onChange={onChange} />
)

/** Nobody. */
export const strictest = '0'

/** The query of a change; without a number, the server does not look. */
export const guardQuery = (most: string): Readonly<Record<string, string>> =>
  most.trim() === '' ? {} : { guard: most.trim() }
