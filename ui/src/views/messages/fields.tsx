import type { ReactNode } from 'react'
import { errorOfField } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { strings } from '../../strings.ts'
import { Audience } from './audience.tsx'
import { type Draft, ownZone, type Shown, utcOf } from './draft.ts'

const text = strings.announcements

type Props = {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
  readonly refusal: unknown
}

type FieldsProps = Props & {
  /** The audiences that the message may have. */
  readonly choices: readonly Shown[]
  readonly children: ReactNode
}

/** Text, audience and times of the message. */
export function Fields({ draft, set, refusal, choices, children }: FieldsProps) {
  const zone = ownZone()
  const spelledOut = (local: string) => {
    const utc = utcOf(local)
    return utc === undefined ? zone : text.inUtc(zone, utc.slice(0, 16).replace('T', ' '))
  }
  return (
    <>
      <div className="filters">
        <Select
          label={text.shown}
          value={draft.shown}
          onChange={(value) => set({ shown: choices.find((one) => one === value) ?? draft.shown })}
          options={choices.map((one) => [one, text.shownTo[one]])}
        />
        <Select
          label={text.kind}
          value={draft.type}
          onChange={(value) => set({ type: value === 'modal' ? 'modal' : 'banner' })}
          options={[
            ['banner', text.banner],
            ['modal', text.modal],
          ]}
        />
        <Select
          label={text.severity}
          value={draft.severity}
          onChange={(value) => set({ severity: value as Draft['severity'] })}
          options={Object.entries(strings.messages.severity)}
        />
      </div>
      {draft.shown !== 'after' && <p className="note">{text.everyone}</p>}
      <Field
        label={text.title}
        isRequired
        value={draft.title}
        onChange={(title) => set({ title })}
        error={errorOfField(refusal, 'title')}
      />
      <Field
        label={text.text}
        hint={text.textHint}
        rows={5}
        isRequired
        value={draft.text}
        onChange={(value) => set({ text: value })}
      />
      <div className="filters">
        <Field
          label={text.linkTitle}
          optional
          value={draft.linkTitle}
          onChange={(linkTitle) => set({ linkTitle })}
          error={errorOfField(refusal, 'link')}
        />
        <Field
          label={text.linkHref}
          optional
          value={draft.linkHref}
          onChange={(linkHref) => set({ linkHref })}
        />
      </div>
      <div className="filters">
        <Field
          label={text.starts}
          type="datetime-local"
          isRequired
          hint={spelledOut(draft.starts)}
          value={draft.starts}
          onChange={(starts) => set({ starts })}
          error={errorOfField(refusal, 'start_time')}
        />
        <Field
          label={text.ends}
          type="datetime-local"
          optional
          hint={draft.ends === '' ? text.neverHint : spelledOut(draft.ends)}
          value={draft.ends}
          onChange={(ends) => set({ ends })}
          error={errorOfField(refusal, 'start time') ?? errorOfField(refusal, 'end_time')}
        />
      </div>
      {children}
      <label className="check-field">
        <input
          type="checkbox"
          checked={draft.dismissible}
          onChange={({ target }) => set({ dismissible: target.checked })}
        />
        {text.dismissible}
      </label>
      <Field
        label={text.priority}
        hint={text.priorityHint}
        type="number"
        value={draft.priority}
        onChange={(priority) => set({ priority })}
        error={errorOfField(refusal, 'priority')}
      />
      {draft.shown !== 'before' && (
        <label className="check-field">
          <input
            type="checkbox"
            checked={draft.mustAcknowledge}
            onChange={({ target }) => set({ mustAcknowledge: target.checked })}
          />
          {text.mustAcknowledge}
        </label>
      )}
      {draft.shown === 'after' && <Audience draft={draft} set={set} refusal={refusal} />}
    </>
  )
}
