import { type FocusEvent, type KeyboardEvent, useState } from 'react'
import { ComboBox } from 'react-aria-components/ComboBox'
import { FieldError } from 'react-aria-components/FieldError'
import { ListBox, ListBoxItem } from 'react-aria-components/ListBox'
import { Popover } from 'react-aria-components/Popover'
import { Text } from 'react-aria-components/Text'
import { Input, Label } from 'react-aria-components/TextField'
import { strings } from '../strings.ts'
import { Button } from './button.tsx'
import { visible } from './visible.ts'
import './picker.css'

const text = strings.picker

export type Choice = {
  readonly id: string
  readonly label: string
  /** Other names that find it, such as the aliases of a person. */
  readonly detail?: string | undefined
}

type Props = {
  readonly label: string
  readonly hint?: string
  readonly optional?: boolean
  /** Whether one must be chosen. */
  readonly isRequired?: boolean
  readonly error?: string | undefined
  /** Undefined if nobody can say what there is: any text counts then. */
  readonly choices: readonly Choice[] | undefined
  /** Whether a text that is none of the choices counts, too. */
  readonly allowsOther?: boolean
  readonly value: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

/** More options than this nobody reads: another letter narrows them. */
const mostShown = 50

/**
 * Some of many: the chosen ones, each with a button that removes it, and a field that finds others. The field takes a
 * list with commas, too.
 */
export function Picker({
  label,
  hint,
  optional = false,
  isRequired = false,
  error,
  choices,
  allowsOther = choices === undefined,
  value,
  onChange,
}: Props) {
  const [typed, setTyped] = useState('')
  const isOpen = (choice: Choice) => !value.includes(choice.id)
  const found = (choices ?? []).filter((choice) => isOpen(choice) && matches(choice, typed.trim()))
  const labelOf = (id: string) => choices?.find((choice) => choice.id === id)?.label ?? id
  const add = (ids: readonly string[]) => {
    onChange([...new Set([...value, ...ids])])
    setTyped('')
  }
  /** Takes what is typed, if it says what is meant. */
  const take = () => {
    const parts = typed.split(',').flatMap((part) => part.trim() || [])
    const ids = parts.map((part) => meant(part, choices ?? [], allowsOther))
    if (ids.length > 0 && ids.every((id) => id !== undefined)) add(ids)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const hasOption = event.currentTarget.getAttribute('aria-activedescendant') !== null
    if (event.key !== 'Enter' || typed.trim() === '' || hasOption) return
    event.preventDefault()
    take()
  }
  const refusal = typed.trim() === '' || allowsOther ? undefined : text.unknown
  return (
    <div className="field picker">
      <ComboBox
        className="field"
        items={found.slice(0, mostShown)}
        inputValue={typed}
        onInputChange={setTyped}
        // the list closes when this changes
        value={value.at(-1) ?? null}
        onChange={(id) => id !== null && add([String(id)])}
        isRequired={isRequired && value.length === 0}
        allowsCustomValue
        menuTrigger="focus"
        validate={() => refusal}
        {...(error !== undefined && { isInvalid: true })}
        // an error may be outdated: it must not keep the browser from sending the form
        validationBehavior={error === undefined ? 'native' : 'aria'}
        onBlur={(event: FocusEvent) => {
          if (!event.currentTarget.contains(event.relatedTarget)) take()
        }}
      >
        <Label>
          {label}
          {optional && <span className="optional"> ({strings.optional})</span>}
        </Label>
        <Input onKeyDownCapture={onKeyDown} spellCheck={false} autoComplete="off" />
        {hint !== undefined && (
          <Text slot="description" className="hint">
            {hint}
          </Text>
        )}
        {/* what was said of a text that is gone would go at the next click, and move the button that it is for */}
        {(refusal ?? error) !== undefined && <FieldError className="field-error">{error}</FieldError>}
        <Popover className="popover options">
          <ListBox<Choice>>
            {(choice) => (
              <ListBoxItem textValue={choice.label} className="option">
                {visible(choice.label)}
                {choice.detail !== undefined && <span className="hint">{visible(choice.detail)}</span>}
              </ListBoxItem>
            )}
          </ListBox>
          {found.length > mostShown && <p className="hint">{text.more(found.length - mostShown)}</p>}
        </Popover>
      </ComboBox>
      <ul className="tags" aria-label={text.chosen(label)}>
        {value.map((id) => (
          <li key={id}>
            {visible(labelOf(id))}
            <Button
              kind="quiet"
              aria-label={text.remove(labelOf(id))}
              onPress={() => onChange(value.filter((one) => one !== id))}
            >
              ✕
            </Button>
          </li>
        ))}
      </ul>
    </div>
  )
}

const folded = (name: string) => name.toLowerCase()

const matches = ({ id, label, detail = '' }: Choice, typed: string): boolean =>
  [id, label, detail].some((name) => folded(name).includes(folded(typed)))

/** The choice with this id or name, or the text itself where it counts. */
function meant(typed: string, choices: readonly Choice[], allowsOther: boolean): string | undefined {
  const named = choices.filter(({ id, label }) => id === typed || folded(label) === folded(typed))
  if (named.length > 0 || allowsOther) return named[0]?.id ?? typed
  const found = choices.filter((choice) => matches(choice, typed))
  return found.length === 1 ? found[0]?.id : undefined
}
