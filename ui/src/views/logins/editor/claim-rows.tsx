import { type ReactNode, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { Field } from '../../../components/field.tsx'
import { strings } from '../../../strings.ts'

const text = strings.logins.editor

type Props<Value> = {
  readonly label: string
  readonly hint: ReactNode
  readonly error: string | undefined
  readonly value: Readonly<Record<string, Value>>
  readonly onChange: (value: Readonly<Record<string, Value>>) => void
}

/** A claim in each row, with the values of which it must have one. */
export const ClaimRows = ({ value, onChange, ...words }: Props<unknown>) => (
  <Rows {...words} value={value} onChange={onChange} empty="">
    {({ name, value: values, set }) => <ClaimValues claim={name} value={values} onChange={set} />}
  </Rows>
)

/** A claim in each row, with the name under which the token's metadata has it. */
export const MappingRows = (props: Props<string>) => (
  <Rows {...props} empty="">
    {({ name, value, set }) => <Field label={name} isRequired value={value} onChange={set} />}
  </Rows>
)

type RowsProps<Value> = Props<Value> & {
  readonly empty: Value
  readonly children: (row: {
    readonly name: string
    readonly value: Value
    readonly set: (value: Value) => void
  }) => ReactNode
}

/** The members of a map, and a field that adds one. A name does not change: its row goes and another one comes. */
function Rows<Value>({ label, hint, error, value, onChange, empty, children }: RowsProps<Value>) {
  const [name, setName] = useState('')
  const add = () => {
    const wanted = name.trim()
    if (wanted === '') return
    if (!Object.hasOwn(value, wanted)) onChange({ ...value, [wanted]: empty })
    setName('')
  }
  return (
    <fieldset className="rows">
      <legend>{label}</legend>
      <p className="hint">{hint}</p>
      {Object.entries(value).map(([one, its]) => (
        <div key={one} className="row">
          {children({ name: one, value: its, set: (next) => onChange({ ...value, [one]: next }) })}
          <Button
            kind="quiet"
            aria-label={text.removeRow(one)}
            onPress={() =>
              onChange(Object.fromEntries(Object.entries(value).filter(([other]) => other !== one)))
            }
          >
            ✕
          </Button>
        </div>
      ))}
      <div className="row">
        <Field
          label={text.newRow(label)}
          mono
          value={name}
          onChange={setName}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || name.trim() === '') return
            event.preventDefault()
            add()
          }}
        />
        <Button onPress={add}>{text.addRow}</Button>
      </div>
      {error !== undefined && <p className="field-error">{error}</p>}
    </fieldset>
  )
}

const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === '' ? [] : [value]

/** A number, true or false is not the text that looks the same. */
const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The accepted values, a line for each. */
function ClaimValues({
  claim,
  value,
  onChange,
}: {
  readonly claim: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}) {
  const values = listOf(value)
  const others = values.filter((one) => typeof one !== 'string')
  const [lines, setLines] = useState(values.filter((one) => typeof one === 'string').join('\n'))
  const change = (typed: string, rest: readonly unknown[]) => {
    const all = [...typed.split('\n').flatMap((line) => line.trim() || []), ...rest]
    onChange(all.length === 1 ? all[0] : all)
  }
  return (
    <div>
      <Field
        label={claim}
        mono
        rows={Math.max(1, lines.split('\n').length)}
        value={lines}
        onChange={(typed) => {
          setLines(typed)
          change(typed, others)
        }}
      />
      {others.map((one, index) => (
        <p key={index} className="hint">
          <code>{shown(one)}</code> {text.typed[typeof one] ?? ''}{' '}
          <Button
            kind="quiet"
            aria-label={text.removeRow(shown(one))}
            onPress={() =>
              change(
                lines,
                others.filter((other) => other !== one),
              )
            }
          >
            ✕
          </Button>
        </p>
      ))}
      {typeof parsed(lines) !== 'string' && (
        <Button
          kind="quiet"
          onPress={() => {
            setLines('')
            change('', [...others, parsed(lines)])
          }}
        >
          {text.asType[typeof parsed(lines)]}
        </Button>
      )}
    </div>
  )
}

/** A whole number, true or false, if that is what a text looks like. */
function parsed(typed: string): unknown {
  const trimmed = typed.trim()
  return /^(?:true|false|-?\d{1,15})$/.test(trimmed) ? JSON.parse(trimmed) : trimmed
}
