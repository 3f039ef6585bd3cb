import { type ReactNode, useId } from 'react'
import { Field } from '../../../components/field.tsx'
import { Picker } from '../../../components/picker.tsx'
import { Select } from '../../../components/select.tsx'
import { usePolicyChoices } from '../../../shell/people.ts'
import { strings } from '../../../strings.ts'
import { ClaimRows, MappingRows } from './claim-rows.tsx'
import { ProgramInput } from './program-input.tsx'
import type { FieldSpec } from './spec.ts'

const text = strings.logins.editor

type Props = {
  readonly spec: FieldSpec
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly error: string | undefined
}

/** One field of an object, with its name in words and as the API has it. */
export function FieldInput({ spec, value, onChange, error }: Props) {
  const { name, kind, options, isRequired = false } = spec
  const [label, said = ''] = text.fields[name] ?? [name]
  const hint = (
    <>
      {said} <code>{name}</code>
    </>
  )
  const common = { label, hint, error }
  if (options !== undefined)
    return (
      <Hinted hint={hint} error={error}>
        <Select
          label={label}
          value={String(value)}
          onChange={onChange}
          options={options.map((option) => [option, text.options[option] ?? option])}
        />
      </Hinted>
    )
  if (kind === 'switch') return <Switch {...common} value={value === true} onChange={onChange} />
  if (kind === 'list' || kind === 'policies') {
    const List = kind === 'list' ? Picker : PolicyPicker
    return (
      <List
        label={label}
        hint={`${said} ${name}`.trim()}
        error={error}
        choices={undefined}
        value={Array.isArray(value) ? value.map(String) : []}
        onChange={onChange}
      />
    )
  }
  if (kind === 'program') return <ProgramInput {...common} value={value} onChange={onChange} />
  if (kind === 'claims') return <ClaimRows {...common} value={Object(value)} onChange={onChange} />
  if (kind === 'mappings') return <MappingRows {...common} value={Object(value)} onChange={onChange} />
  return (
    <Field
      {...common}
      isRequired={isRequired}
      {...(kind === 'secret' && { type: 'password', autoComplete: 'new-password' })}
      {...(kind === 'number' && { type: 'number' })}
      {...(['long', 'json', 'pems'].includes(kind) && { rows: 5, mono: true })}
      value={String(value)}
      onChange={onChange}
    />
  )
}

type PickerProps = Parameters<typeof Picker>[0]

const PolicyPicker = (props: PickerProps) => <Picker {...props} choices={usePolicyChoices()} allowsOther />

const Hinted = ({
  hint,
  error,
  children,
}: {
  readonly hint: ReactNode
  readonly error: string | undefined
  readonly children: ReactNode
}) => (
  <div className="field">
    {children}
    <p className="hint">{hint}</p>
    {error !== undefined && <p className="field-error">{error}</p>}
  </div>
)

type SwitchProps = {
  readonly label: string
  readonly hint: ReactNode
  readonly error: string | undefined
  readonly value: boolean
  readonly onChange: (value: boolean) => void
}

function Switch({ label, hint, error, value, onChange }: SwitchProps) {
  const id = useId()
  return (
    <Hinted hint={hint} error={error}>
      <label className="switch" htmlFor={id}>
        <input id={id} type="checkbox" checked={value} onChange={({ target }) => onChange(target.checked)} />
        {label}
      </label>
    </Hinted>
  )
}
