import { Time } from '../../../components/time.tsx'
import { labelOf, usePerson } from '../../../shell/people.ts'
import { strings } from '../../../strings.ts'
import type { WhatIf } from './calls.ts'

const text = strings.logins.whatIf

/** Who would still log in, who would not and why, and who is let in anew. */
export function WhatIfReport({ report }: { readonly report: WhatIf }) {
  const { history_days: days, subjects, succeed, regain, lose, unknown, losers, refusals } = report
  return (
    <section className="stack" aria-label={text.title}>
      <h3>{text.title}</h3>
      {days === 0 ? (
        <p className="hint">{text.noHistory}</p>
      ) : (
        <p>{subjects === 0 ? text.nobody(days) : text.stay(succeed + regain, subjects, days)}</p>
      )}
      {lose > 0 && (
        <>
          <p className="finding">{text.lose(lose)}</p>
          <ul className="losers">
            {losers.map((loser) => (
              <li key={`${loser.role} ${loser.subject}`}>
                <Subject entity={loser.entity_id} hash={loser.subject} /> {text.lastLogin}{' '}
                <Time at={loser.last_login_at} />: <code>{loser.reason}</code>{' '}
                {text.compared(listed(loser.expected), listed([loser.seen].flat()))}
              </li>
            ))}
          </ul>
        </>
      )}
      {unknown > 0 && <p>{text.unknown(unknown)}</p>}
      {report.cannot_be_judged.map(({ check, text: why }) => (
        <p key={check} className="hint">
          <code>{check}</code> {why}
        </p>
      ))}
      {refusals.would_succeed > 0 && <p>{text.refusals(refusals.would_succeed, refusals.tried)}</p>}
      {report.admits_more.length > 0 && (
        <>
          <p>{text.admitsMore}</p>
          <ul className="admitted">
            {report.admits_more.map(({ field, text: what }) => (
              <li key={field + what}>
                <code>{field}</code> {what}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

/** Who it is, or the end of the hash of the name. */
function Subject({ entity, hash }: { readonly entity: string; readonly hash: string }) {
  const person = usePerson(entity)
  return person === undefined ? <code>…{hash.slice(-6)}</code> : <strong>{labelOf(person)}</strong>
}

const listed = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(', ')
