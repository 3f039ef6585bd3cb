import type { MessageWindow } from '../../api/message-admin.ts'
import { errorOfField } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { Time } from '../../components/time.tsx'
import { strings } from '../../strings.ts'
import type { Draft } from './draft.ts'

const text = strings.announcements

type Props = {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
  readonly refusal: unknown
  readonly mayAct: boolean
  /** The next times, as the server says. */
  readonly windows: readonly MessageWindow[]
}

const effects = ['', 'read_only', 'no_new_credentials'] as const

/** Effect and recurrence of a message: docs/contract/message-windows.md. */
export function WindowFields({ draft, set, refusal, mayAct, windows }: Props) {
  return (
    <>
      {mayAct && (
        <Select
          label={text.effect}
          value={draft.effect}
          onChange={(value) => set({ effect: effects.find((one) => one === value) ?? '' })}
          options={effects.map((one) => [one, text.effects[one]])}
        />
      )}
      {draft.effect !== '' && <p className="note">{text.effectHint}</p>}
      <label className="check-field">
        <input
          type="checkbox"
          checked={draft.isRecurring}
          onChange={({ target }) => set({ isRecurring: target.checked })}
        />
        {text.recurs}
      </label>
      {draft.isRecurring && (
        <fieldset className="stack">
          <legend>{text.schedule}</legend>
          <div className="filters">
            <Field
              label={text.cron}
              hint={text.cronHint}
              isRequired
              mono
              value={draft.cron}
              onChange={(cron) => set({ cron })}
              error={errorOfField(refusal, 'schedule')}
            />
            <Field
              label={text.duration}
              hint={text.durationHint}
              isRequired
              value={draft.duration}
              onChange={(duration) => set({ duration })}
            />
            <Select
              label={text.timeZone}
              value={draft.timeZone}
              onChange={(timeZone) => set({ timeZone })}
              options={zonesWith(draft.timeZone).map((zone) => [zone, zone])}
            />
          </div>
          <section aria-label={text.next} aria-live="polite">
            {windows.length > 0 && <p>{text.next}</p>}
            <ol className="windows">
              {windows.map(({ start_time: start, end_time: end }) => (
                <li key={start}>
                  <Time at={start} /> – {end === null ? text.never : <Time at={end} />}
                </li>
              ))}
            </ol>
          </section>
        </fieldset>
      )}
    </>
  )
}

/** Every zone that the browser knows. A message may have an offset instead of a name. */
const zonesWith = (zone: string): readonly string[] => [
  ...new Set([zone, 'UTC', ...Intl.supportedValuesOf('timeZone')]),
]
