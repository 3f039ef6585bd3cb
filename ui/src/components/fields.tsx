import type { Finding } from '../api/logins.ts'
import { strings } from '../strings.ts'
import { isDuration, shortDuration } from './time.tsx'
import { visible } from './visible.ts'

const text = strings.logins

type Props = { readonly values: Readonly<Record<string, unknown>>; readonly findings?: readonly Finding[] }

/** The fields of a role or a configuration that are set, each with what the linter says of it. */
export function Fields({ values, findings = [] }: Props) {
  const names = Object.keys(values).filter(
    (name) => !isEmpty(values[name]) || findings.some(({ field }) => field === name),
  )
  const others = findings.filter(({ field }) => !names.includes(field))
  return (
    <>
      <dl className="facts fields">
        {names.map((name) => (
          <div key={name}>
            <dt className="mono">{visible(name)}</dt>
            <dd>
              {isDuration(name, values[name]) ? (
                <span title={textOf(values[name])}>{shortDuration(values[name])}</span>
              ) : (
                <code>{visible(textOf(values[name]))}</code>
              )}
              {findings
                .filter(({ field }) => field === name)
                .map((finding) => (
                  <FindingText key={finding.code + finding.text} finding={finding} />
                ))}
            </dd>
          </div>
        ))}
      </dl>
      {others.map((finding) => (
        <FindingText key={finding.code + finding.text} finding={finding} />
      ))}
    </>
  )
}

/** Findings of the linter about a field. */
export const FindingText = ({ finding: { code, text: said } }: { readonly finding: Finding }) => (
  <p className="finding">
    <span className="hidden">{text.finding}: </span>
    <code>{code}</code> {said}
  </p>
)

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join('\n')
  return JSON.stringify(value, null, 2)
}
