import { ChangedFields } from '../../../history/changed-fields.tsx'
import { strings } from '../../../strings.ts'
import type { Values } from './spec.ts'

const text = strings.logins.editor

type Props = {
  /** As it was read; undefined for a new object. */
  readonly stored: Values | undefined
  readonly proposal: Values
  /** Nobody vouches for the values. */
  readonly isUnverified?: boolean
}

/** The change that a form begins with, before and after. */
export const ProposedChange = ({ stored, proposal, isUnverified = false }: Props) => (
  <section className="note" aria-label={text.proposal}>
    <p>{text.proposal}</p>
    {isUnverified && <p className="finding">{text.unverifiedProposal}</p>}
    <ChangedFields before={pick(stored ?? {}, proposal)} after={proposal} />
  </section>
)

const pick = (values: Values, of: Values): Values =>
  Object.fromEntries(Object.keys(of).map((name) => [name, values[name]]))
