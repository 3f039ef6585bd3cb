import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  createMessage,
  type MessageInput,
  type MessageWindow,
  messagesPath,
  previewMessage,
  replaceMessage,
} from '../../api/message-admin.ts'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { useSettled } from '../../components/use-settled.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { ViewLoading } from '../../shell/outcomes.tsx'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { type Draft, draftOf, inputsOf, type Shown, shownOf, sidesOf } from './draft.ts'
import { Fields } from './fields.tsx'
import { pairOf, type Side, type Stored, saveMessages, storedOnes } from './pair.ts'
import { Preview } from './preview.tsx'
import { type Rights, useRights, useStored } from './use-stored.ts'
import { WindowFields } from './window-fields.tsx'

const text = strings.announcements

/** Without an id, it makes a new message. */
export const Editor = ({ id }: { readonly id: string | undefined }) =>
  id === undefined ? <Allowed stored={{}} /> : <Existing id={id} />

function Existing({ id }: { readonly id: string }) {
  // what is being written must not change
  const { data, error } = useStored(id, { staleTime: Number.POSITIVE_INFINITY })
  if (error !== null) return <Failure error={error} />
  return data === undefined ? null : <Allowed stored={data} id={id} />
}

type FormProps = { readonly stored: Stored; readonly id?: string }

function Allowed(props: FormProps) {
  const rights = useRights(props.stored)
  const isNew = storedOnes(props.stored).length === 0
  if (!rights.isKnown) return <ViewLoading />
  if (!(isNew ? rights.mayCreate : rights.mayUpdate)) return <EmptyState title={strings.shell.notAllowed} />
  return <Form {...props} rights={rights} />
}

function Form({ stored, id, rights }: FormProps & { readonly rights: Rights }) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(stored))
  const [pair] = useState(() => storedOnes(stored).map(pairOf).find(Boolean) ?? crypto.randomUUID())
  const [error, setError] = useState<unknown>()
  useUnsaved(draft)
  const client = useQueryClient()
  const go = useGo()
  const inputs = inputsOf(draft, stored, pair)
  const sides = sidesOf(draft.shown)
  const checked = useChecked(inputs[draft.shown === 'before' ? 'before' : 'after'])
  const save = useAction(async () => {
    try {
      const saved = await saveMessages(stored, inputs)
      await Promise.all([['messages'], ['message']].map((queryKey) => client.invalidateQueries({ queryKey })))
      announce(strings.saved)
      go({ view: 'messages', parts: [saved] })
    } catch (refusal) {
      setError(refusal)
    }
  })
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }))
  return (
    <>
      <ViewHeader
        title={id === undefined ? text.newTitle : text.editTitle(draft.title)}
        requests={requestsOf(stored, inputs)}
      />
      <div className="beside">
        <form className="panel" onSubmit={save} autoComplete="off">
          <Fields
            draft={draft}
            set={set}
            refusal={error ?? checked.error}
            choices={choicesOf(stored, draft.shown, rights)}
          >
            <WindowFields
              draft={draft}
              set={set}
              refusal={error ?? checked.error}
              mayAct={rights.mayAct}
              windows={checked.windows}
            />
          </Fields>
          <Failure error={error} />
          <div className="actions">
            <Button kind="primary" type="submit">
              {text.save}
            </Button>
            <PlaceLink view="messages" parts={id === undefined ? [] : [id]} className="button">
              {strings.cancel}
            </PlaceLink>
          </div>
        </form>
        <div className="stack">
          {sides.map((side) => (
            <Preview key={side} side={side} message={shownOf(draft, side, checked.notice)} />
          ))}
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

/** A pair becomes one message by ending the other, and one message a pair by another new one. */
function choicesOf(stored: Stored, shown: Shown, { mayCreate, mayDelete }: Rights): readonly Shown[] {
  const isPair = storedOnes(stored).length > 1
  const choices: readonly Shown[] = ['before', 'after', 'everybody']
  return choices.filter((one) => one === shown || (one === 'everybody' ? mayCreate : !isPair || mayDelete))
}

const requestsOf = (stored: Stored, inputs: Readonly<Partial<Record<Side, MessageInput>>>) =>
  (['before', 'after'] as const).flatMap((side) => {
    const [body, own] = [inputs[side], stored[side]]
    if (body === undefined) return []
    return own === undefined
      ? [createMessage.request({ body })]
      : [replaceMessage.request({ params: { id: own.id }, body })]
  })

type Checked = {
  readonly error: unknown
  readonly warnings: readonly string[]
  readonly notice: string
  readonly windows: readonly MessageWindow[]
}

/** What the server thinks of the draft, once the person pauses. Nothing is stored. */
function useChecked(input: MessageInput | undefined): Checked {
  const path = `${messagesPath}/preview`
  const { can } = useCapabilities([path])
  const settled = useSettled(JSON.stringify(input))
  const { data, error } = useQuery({
    queryKey: ['message-preview', settled],
    queryFn: ({ signal }) => previewMessage({ body: JSON.parse(settled) }, { signal }),
    enabled: can(path, 'create') && input !== undefined && input.title !== '',
    retry: false,
    gcTime: 0,
  })
  return {
    error: error ?? undefined,
    warnings: data?.warnings ?? [],
    notice: data?.data.notice ?? '',
    windows: data?.data.windows ?? [],
  }
}
