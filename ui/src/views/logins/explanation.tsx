import { Fragment, type ReactNode, useId } from 'react'
import type { Check, Explanation } from '../../api/logins.ts'
import { CopyButton } from '../../components/copy-as.tsx'
import { shortDuration, Time } from '../../components/time.tsx'
import { visible } from '../../components/visible.ts'
import { PlaceLink } from '../../shell/use-place.tsx'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'

const text = strings.logins

/** How a login went: its checks in order, the first that failed in red, with what to change. */
export function ExplanationPanel({
  mount,
  explanation,
  children,
}: {
  readonly mount: string
  readonly explanation: Explanation
  /** The repair for it. */
  readonly children?: ReactNode
}) {
  // a form beside a refused login explains another one
  const id = useId()
  const {
    allowed,
    reason,
    status,
    error,
    cause,
    now,
    role,
    request_id: request,
    time,
    remote_address: from,
  } = explanation
  return (
    <section className="panel explanation" aria-labelledby={id}>
      <h2 id={id} className={allowed ? 'verdict pass' : 'verdict fail'}>
        {allowed ? text.allowed : text.refused(reason, status)}
      </h2>
      {!allowed && <p className="mono">{visible(error)}</p>}
      {cause !== '' && <p className="mono">{visible(cause)}</p>}
      {now !== undefined && <Now now={now} checks={explanation.now_checks ?? []} />}
      <Advice explanation={explanation} />
      {children}
      <dl className="facts">
        {role !== '' && (
          <>
            <dt>{text.role}</dt>
            <dd>
              <PlaceLink view="logins" parts={[mount, 'roles', role]}>
                {role}
              </PlaceLink>
            </dd>
          </>
        )}
        {time !== undefined && (
          <>
            <dt>{text.time}</dt>
            <dd>
              <Time at={time} />
            </dd>
          </>
        )}
        {from !== undefined && (
          <>
            <dt>{text.from}</dt>
            <dd className="mono">{from}</dd>
          </>
        )}
        {request !== undefined && (
          <>
            <dt>{strings.requestId}</dt>
            <dd className="mono">{request}</dd>
          </>
        )}
        <Clock clock={explanation.clock} />
      </dl>
      <Checks checks={explanation.checks} />
      <Login login={explanation.login} />
      <div className="actions">
        <CopyButton text={explanation.report} label={text.copyReport} />
      </div>
    </section>
  )
}

/** How the same login would go now, with the checks that this follows from and those that nobody could make. */
function Now({
  now,
  checks,
}: {
  readonly now: NonNullable<Explanation['now']>
  readonly checks: NonNullable<Explanation['now_checks']>
}) {
  const named = (verdict: string) =>
    checks
      .filter((check) => check.verdict === verdict)
      .map(({ name, reason }) => (reason === '' ? name : `${name} (${reason})`))
      .join(', ')
  const lists = [
    [text.nowChecks.fail, named('fail')],
    [text.nowChecks.pass, named('pass')],
    [text.nowChecks.unknown, named('unknown')],
  ] as const
  return (
    <section className="note" aria-label={text.nowChecks.title}>
      <p>{checks.length === 0 && now === 'unknown' ? text.nowChecks.nothing : text.now[now]}</p>
      <dl className="facts">
        {lists.map(
          ([title, names]) =>
            names !== '' && (
              <Fragment key={title}>
                <dt>{title}</dt>
                <dd className="mono">{names}</dd>
              </Fragment>
            ),
        )}
      </dl>
      {checks.length > 0 && <p className="hint">{text.nowChecks.hint}</p>}
    </section>
  )
}

/** The server's own advice: the last paragraph of its report. */
function Advice({ explanation: { report } }: { readonly explanation: Explanation }) {
  const [, advice] = /^What to do: ([\s\S]*?)\s*$/m.exec(report) ?? []
  return advice === undefined ? null : (
    <p className="note">
      <strong>{text.whatToDo}</strong>{' '}
      {advice.split('`').map((part, index) =>
        // every second part was between backticks
        index % 2 === 1 ? <code key={part}>{part}</code> : part,
      )}
    </p>
  )
}

function Clock({ clock }: Pick<Explanation, 'clock'>) {
  if (clock == null || Math.abs(clock.offset_seconds) < 1) return null
  return (
    <>
      <dt>{text.clock}</dt>
      <dd>
        {text.clockOffset(
          shortDuration(Math.abs(Math.round(clock.offset_seconds))),
          clock.offset_seconds > 0,
          clock.estimated,
        )}
      </dd>
    </>
  )
}

const Checks = ({ checks }: { readonly checks: readonly Check[] }) => {
  const first = checks.findIndex(({ verdict }) => verdict === 'fail')
  return (
    <ol className="checks" aria-label={text.checks}>
      {checks.map((check, index) => (
        <li key={index} className={`check ${check.verdict}${index === first ? ' first' : ''}`}>
          <OneCheck check={check} />
        </li>
      ))}
    </ol>
  )
}

const signs = { pass: '✓', fail: '✗', skipped: '–' } as const

const OneCheck = ({
  check: { name, verdict, expected, seen, reason, hint, detail },
}: {
  readonly check: Check
}) => (
  <>
    <span className="sign" aria-hidden="true">
      {signs[verdict]}
    </span>
    <div>
      <strong>{name}</strong> {detail !== '' && <code>{visible(detail)}</code>}
      <span className={verdict === 'fail' ? '' : 'hidden'}> {text.verdicts[verdict]}</span>
      {reason !== '' && <code> {reason}</code>}
      {verdict === 'fail' && (
        <dl className="facts compared">
          <dt>{text.expected}</dt>
          <dd>
            <Values values={expected} />
          </dd>
          <dt>{text.seen}</dt>
          <dd>
            <Values values={Array.isArray(seen) ? seen : [seen]} />
          </dd>
        </dl>
      )}
      {hint !== '' && <p>{text.hints[hint] ?? hint}</p>}
    </div>
  </>
)

const Values = ({ values }: { readonly values: readonly unknown[] }) =>
  values.length === 0 ? (
    <span>{text.noValue}</span>
  ) : (
    values.map((value, index) => (
      <code key={index} className="value">
        {visible(JSON.stringify(value) ?? text.noValue)}
      </code>
    ))
  )

function entityOf({ alias }: NonNullable<Explanation['login']>) {
  if (alias == null) return text.noEntity
  return alias.entity_id === '' ? text.newEntity : <Who id={alias.entity_id} />
}

function Login({ login }: Pick<Explanation, 'login'>) {
  if (login == null) return null
  return (
    <>
      <h3>{text.wouldBe}</h3>
      <dl className="facts">
        <dt>{strings.home.name}</dt>
        <dd>{visible(login.display_name)}</dd>
        <dt>{strings.home.entity}</dt>
        <dd>{entityOf(login)}</dd>
        <dt>{strings.home.groups}</dt>
        <dd>{visible(login.groups.matched.map(({ name }) => name).join(', ')) || text.noGroups}</dd>
        <dt>{strings.home.policies}</dt>
        <dd>{login.policies.join(', ')}</dd>
        <dt>{strings.home.ttl}</dt>
        <dd>{shortDuration(login.lease_duration)}</dd>
      </dl>
      {login.warnings.map((warning) => (
        <p key={warning} className="note">
          {warning}
        </p>
      ))}
    </>
  )
}
