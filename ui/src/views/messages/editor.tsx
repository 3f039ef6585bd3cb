import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import {
  createMessage,
  type FullMessage,
  type MessageInput,
  messagesPath,
  previewMessage,
  readMessage,
  replaceMessage,
} from '../../api/message-admin.ts'
import { Button } from '../../components/button.tsx'
import { errorOfField, Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { type Draft, draftOf, inputOf, newDraft, shownOf, utcOf } from './draft.ts'
import { Preview } from './preview.tsx'
import { useSettled } from './use-settled.ts'

const text = strings.announcements

/** Without an id, it makes a new message. */
export function Editor({ id }: { readonly id: string | undefined }) {
  const { data, error } = useQuery({
    queryKey: ['message', id],
    queryFn: ({ signal }) => readMessage({ params: { id: id ?? '' } }, { signal }),
    enabled: id !== undefined,
    // what is being written must not change
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (error !== null) return <Failure error={error} />
  if (id !== undefined && data === undefined) return null
  return <Form id={id} stored={data?.data} />
}

type FormProps = { readonly id: string | undefined; readonly stored: FullMessage | undefined }

function Form({ id, stored }: FormProps) {
  const [draft, setDraft] = useState<Draft>(() => (stored === undefined ? newDraft() : draftOf(stored)))
  const [error, setError] = useState<unknown>()
  const client = useQueryClient()
  const go = useGo()
  const body = inputOf(draft, stored)
  const checked = useChecked(body)
  const request =
    id === undefined ? createMessage.request({ body }) : replaceMessage.request({ params: { id }, body })
  const save = async (event: FormEvent) => {
    event.preventDefault()
    try {
      const saved =
        id === undefined ? await createMessage({ body }) : await replaceMessage({ params: { id }, body })
      await Promise.all(
        [['messages'], ['message', id]].map((queryKey) => client.invalidateQueries({ queryKey })),
      )
      go({ view: 'messages', parts: [saved.data.id] })
    } catch (refusal) {
      setError(refusal)
    }
  }
  return (
    <>
      <ViewHeader
        title={id === undefined ? text.newTitle : text.editTitle(draft.title)}
        requests={[request]}
      />
      <div className="beside">
        <form className="panel" onSubmit={save} autoComplete="off">
          <Fields
            draft={draft}
            set={(change) => setDraft((before) => ({ ...before, ...change }))}
            refusal={error ?? checked.error}
          />
          <Failure error={error} />
          <div className="dialog-actions">
            <PlaceLink view="messages" parts={id === undefined ? [] : [id]} className="button">
              {strings.cancel}
            </PlaceLink>
            <Button kind="primary" type="submit">
              {text.save}
            </Button>
          </div>
        </form>
        <div className="stack">
          <h2>{draft.authenticated ? text.previewAfter : text.previewBefore}</h2>
          <Preview message={shownOf(draft)} />
          <div aria-live="polite" className="stack">
            {checked.warnings.map((warning) => (
              <p key={warning} className="note">
                {warning}
              </p>
            ))}
          </div>
        </div>
      </div>
    </>
  )
}

/** What the server thinks of the draft, once the person pauses. Nothing is stored. */
function useChecked(input: MessageInput): { readonly error: unknown; readonly warnings: readonly string[] } {
  const path = `${messagesPath}/preview`
  const { can } = useCapabilities([path])
  const settled = useSettled(JSON.stringify(input))
  const { data, error } = useQuery({
    queryKey: ['message-preview', settled],
    queryFn: ({ signal }) => previewMessage({ body: JSON.parse(settled) }, { signal }),
    enabled: can(path, 'create') && input.title !== '',
    retry: false,
    gcTime: 0,
  })
  return { error: error ?? undefined, warnings: data?.warnings ?? [] }
}

type FieldsProps = {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
  readonly refusal: unknown
}

function Fields({ draft, set, refusal }: FieldsProps) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const spelledOut = (local: string) => {
    const utc = utcOf(local)
    return utc === undefined ? zone : text.inUtc(zone, utc.slice(0, 16).replace('T', ' '))
  }
  return (
    <>
      <div className="filters">
        <Select
          label={text.shown}
          value={draft.authenticated ? 'after' : 'before'}
          onChange={(value) => set({ authenticated: value === 'after' })}
          options={[
            ['before', text.before],
            ['after', text.after],
          ]}
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
      {!draft.authenticated && <p className="note">{text.everyone}</p>}
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
      {draft.authenticated && <Audience draft={draft} set={set} refusal={refusal} />}
    </>
  )
}

const Audience = ({ draft, set, refusal }: FieldsProps) => (
  <>
    <label className="check-field">
      <input
        type="checkbox"
        checked={draft.mustAcknowledge}
        onChange={({ target }) => set({ mustAcknowledge: target.checked })}
      />
      {text.mustAcknowledge}
    </label>
    <fieldset className="stack">
      <legend>{text.audience}</legend>
      <p className="hint">{text.audienceHint}</p>
      <Field
        label={text.policies}
        optional
        value={draft.policies}
        onChange={(policies) => set({ policies })}
        error={errorOfField(refusal, 'audience')}
      />
      <Field
        label={text.entityIds}
        optional
        mono
        value={draft.entityIds}
        onChange={(entityIds) => set({ entityIds })}
      />
      <Field
        label={text.groupIds}
        optional
        mono
        value={draft.groupIds}
        onChange={(groupIds) => set({ groupIds })}
      />
    </fieldset>
  </>
)
