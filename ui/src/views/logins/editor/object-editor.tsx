import { type ReactNode, useId, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { errorOfField, Failure } from '../../../components/failure.tsx'
import { FindingText } from '../../../components/fields.tsx'
import { useUnsaved } from '../../../components/unsaved.ts'
import { strings } from '../../../strings.ts'
import type { WhatIf } from './calls.ts'
import { FieldInput } from './field-input.tsx'
import {
  allFields,
  changedFields,
  type FieldSpec,
  formOf,
  isShown,
  unfilledClaims,
  type Values,
} from './spec.ts'
import { type TryOut, useWhatIf } from './use-what-if.ts'
import { WhatIfReport } from './what-if-report.tsx'
import './editor.css'
import { useAction } from '../../../components/use-action.ts'

const text = strings.logins.editor

type Props = {
  readonly title: string
  /** Where the object is. */
  readonly path: string
  readonly specs: readonly FieldSpec[]
  /** As it was read; undefined for a new object. */
  readonly stored: Values | undefined
  /** Values of a preset or a proposal, which the form shows instead of the stored ones. */
  readonly changes?: Values
  /** Fields that a write resets if they are absent; `all`: a write replaces the object. */
  readonly always: readonly string[] | 'all'
  readonly tryOut: TryOut | undefined
  /** Whether trying it makes the server ask others, so that it waits for a button. */
  readonly isCostly?: boolean
  /** A secret that was there, that nobody can read, and that this write would lose. */
  readonly missingOf?: (body: Values) => string | undefined
  /** Throws what the server says. */
  readonly write: (body: Values) => Promise<unknown>
  readonly onCancel?: () => void
  /** Above the fields. */
  readonly children?: ReactNode
  /** Beside the form, for what a write would send; `apply` changes the form. */
  readonly beside?: (body: Values, apply: (fields: Values) => void) => ReactNode
}

/**
 * The form of an object, with what the linter says beside each field and what a write would mean for those who log in.
 * A save is refused by the server if more people would lose access than the page has shown.
 */
export function ObjectEditor({
  title,
  path,
  specs,
  stored,
  changes = {},
  always,
  tryOut,
  isCostly = false,
  missingOf,
  write,
  onCancel,
  children,
  beside,
}: Props) {
  const id = useId()
  const [form, setForm] = useState(() => ({ ...formOf(specs, { ...stored, ...changes }) }))
  useUnsaved(form)
  const [applied, setApplied] = useState(0)
  const [error, setError] = useState<unknown>()
  const edited = { specs, stored, form }
  const body = bodyOf(() => (always === 'all' ? allFields(edited) : changedFields(edited, always)))
  const [asked, setAsked] = useState('')
  const isAsked = !isCostly || asked === JSON.stringify(body.values)
  const { report, refusal } = useWhatIf(path, body.values, isAsked ? tryOut : undefined)
  const unfilled = unfilledClaims(specs, form)
  const apply = (fields: Values) => {
    setForm((before) => ({
      ...before,
      ...formOf(
        specs.filter(({ name }) => name in fields),
        fields,
      ),
    }))
    setApplied(applied + 1)
  }
  const save = useAction(async () => {
    setError(undefined)
    try {
      if (body.problem !== undefined) throw new Error(body.problem)
      const missing = missingOf?.(body.values)
      if (missing !== undefined) throw new Error(text.retype(missing))
      if (unfilled.length > 0) throw new Error(text.unfilled(unfilled.join(', ')))
      await write({ ...body.values, ...(tryOut !== undefined && guardOf(report)) })
    } catch (failure) {
      setError(failure)
    }
  })
  const findings = (report?.lint.after ?? []).filter(({ code }) => code !== ofPartialWrites)
  const shown = specs.filter((spec) => isShown(spec, form))
  const inputOf = (spec: FieldSpec) => (
    <div key={`${spec.name} ${applied}`}>
      <FieldInput
        spec={spec}
        value={form[spec.name]}
        onChange={(value) => setForm((before) => ({ ...before, [spec.name]: value }))}
        error={errorOfField(error, spec.name) ?? errorOfField(refusal, spec.name)}
      />
      {findings
        .filter(({ field }) => field === spec.name)
        .map((finding) => (
          <FindingText key={finding.code + finding.text} finding={finding} />
        ))}
    </div>
  )
  const others = findings.filter(({ field }) => !shown.some(({ name }) => name === field))
  const losing = report === undefined ? 0 : report.lose + report.unknown
  return (
    <div className="object-editor">
      <section className="panel" aria-labelledby={id}>
        <h2 id={id}>{title}</h2>
        <form className="stack" onSubmit={(event) => void save(event)} autoComplete="off">
          {children}
          {shown.filter(({ isMore = false }) => !isMore).map(inputOf)}
          <details>
            <summary>{text.more}</summary>
            <div className="stack more">{shown.filter(({ isMore = false }) => isMore).map(inputOf)}</div>
          </details>
          {others.map((finding) => (
            <FindingText key={finding.code + finding.text} finding={finding} />
          ))}
          <Failure error={error} />
          <div className="actions">
            <Button kind={losing > 0 ? 'danger' : 'primary'} type="submit">
              {losing > 0 ? text.saveAlthough(losing) : text.save}
            </Button>
            {onCancel !== undefined && <Button onPress={onCancel}>{strings.cancel}</Button>}
          </div>
        </form>
      </section>
      <div className="stack">
        <div className="panel" aria-live="polite">
          {refusal !== undefined && error === undefined && <Refusal lines={refusal.errors} />}
          {report !== undefined && <WhatIfReport report={report} />}
          {report === undefined && refusal === undefined && isAsked && (
            <>
              <h3>{strings.logins.whatIf.title}</h3>
              <p className="hint">{tryOut === undefined ? text.mayNotTry : text.trying}</p>
            </>
          )}
          {!isAsked && tryOut !== undefined && (
            <div>
              <Button onPress={() => setAsked(JSON.stringify(body.values))}>{text.ask}</Button>
              <p className="hint">{text.askHint}</p>
            </div>
          )}
        </div>
        {beside?.(body.values, apply)}
      </div>
    </div>
  )
}

/** Of fields that are not sent because they stay. */
const ofPartialWrites = 'kept_values'

/** The server's answer to a save now; it is no error yet. */
const Refusal = ({ lines }: { readonly lines: readonly string[] }) => (
  <>
    <p>{text.wouldBeRefused}</p>
    {lines.map((line) => (
      <p key={line} className="finding">
        {line}
      </p>
    ))}
  </>
)

/** At most those that the page has shown may lose access. Without a memory of logins there is no guard. */
const guardOf = (report: WhatIf | undefined): Values =>
  report?.history_days === 0 ? {} : { guard: report === undefined ? 0 : report.lose + report.unknown }

/** A text that is no JSON keeps the form from being sent. */
function bodyOf(make: () => Values): { readonly values: Values; readonly problem?: string } {
  try {
    return { values: make() }
  } catch {
    return { values: {}, problem: text.notJson }
  }
}
