import { errorOfField } from '../../components/failure.tsx'
import { Picker } from '../../components/picker.tsx'
import { useGroupChoices, usePeopleChoices, usePolicyChoices } from '../../shell/people.ts'
import { strings } from '../../strings.ts'
import type { Draft } from './draft.ts'

const text = strings.announcements

type Props = {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
  readonly refusal: unknown
}

/** Who sees a message after the login. */
export function Audience({ draft, set, refusal }: Props) {
  const policies = usePolicyChoices()
  const people = usePeopleChoices()
  const groups = useGroupChoices()
  return (
    <fieldset className="stack">
      <legend>{text.audience}</legend>
      <p className="hint">{text.audienceHint}</p>
      <Picker
        label={text.policies}
        optional
        choices={policies}
        allowsOther
        value={draft.policies}
        onChange={(ids) => set({ policies: ids })}
        error={errorOfField(refusal, 'audience')}
      />
      <Picker
        label={text.people}
        optional
        choices={people}
        value={draft.entityIds}
        onChange={(entityIds) => set({ entityIds })}
      />
      <Picker
        label={text.groups}
        optional
        choices={groups}
        value={draft.groupIds}
        onChange={(groupIds) => set({ groupIds })}
      />
    </fieldset>
  )
}
