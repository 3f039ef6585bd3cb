import { type ReactNode, useId, useState } from 'react'
import { strings } from '../strings.ts'
import { announce } from './announce.tsx'
import { Button } from './button.tsx'
import { errorOfField, Failure } from './failure.tsx'
import { Field } from './field.tsx'
import { type Choice, Picker } from './picker.tsx'
import { useUnsaved } from './unsaved.ts'
import { useAction } from './use-action.ts'

type OneField = {
  /** As the API names it: an error that names it stands beside the field. */
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly isRequired?: boolean
  /** A password is not shown while it is typed. */
  readonly type?: 'password' | 'number'
  readonly initial?: string
  /** It is a list, which is picked from these; its value is their ids with commas. */
  readonly picks?: { readonly choices: readonly Choice[] | undefined; readonly allowsOther?: boolean }
}

type Props = {
  readonly title: string
  readonly action: string
  readonly fields: readonly OneField[]
  /** Gets every field, without the blanks around it unless it is a password. The form is empty again afterwards. */
  readonly run: (value: (name: string) => string) => Promise<unknown>
  readonly children?: ReactNode
}

/** A panel with a form of a few texts, such as for something new. */
export function FieldsForm({ title, action, fields, run, children }: Props) {
  const id = useId()
  const initial = Object.fromEntries(fields.map((field) => [field.name, field.initial ?? '']))
  const [values, setValues] = useState<Readonly<Record<string, string>>>(initial)
  const [error, setError] = useState<unknown>()
  useUnsaved(values)
  const isPassword = (wanted: string) =>
    fields.some(({ name, type }) => name === wanted && type === 'password')
  const submit = useAction(async () => {
    try {
      await run((name) => (isPassword(name) ? values[name] : values[name]?.trim()) ?? '')
      setValues(initial)
      setError(undefined)
      announce(strings.done(action))
    } catch (refusal) {
      setError(refusal)
    }
  })
  const isNamed = fields.some(({ name }) => errorOfField(error, name) !== undefined)
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <form className="filters" onSubmit={(event) => void submit(event)} autoComplete="off">
        {fields.map(({ name, label, hint, isRequired = false, type, picks }) =>
          picks === undefined ? (
            <Field
              key={name}
              label={label}
              hint={hint}
              isRequired={isRequired}
              {...(type !== undefined && { type })}
              {...(type === 'password' && { autoComplete: 'new-password' })}
              value={values[name] ?? ''}
              error={errorOfField(error, name)}
              onChange={(value) => setValues((before) => ({ ...before, [name]: value }))}
            />
          ) : (
            <Picker
              key={name}
              label={label}
              {...picks}
              isRequired={isRequired}
              {...(hint !== undefined && { hint })}
              value={listOf(values[name] ?? '')}
              error={errorOfField(error, name)}
              onChange={(ids) => setValues((before) => ({ ...before, [name]: ids.join(',') }))}
            />
          ),
        )}
        {children}
        <div className="actions">
          <Button type="submit">{action}</Button>
        </div>
      </form>
      {!isNamed && <Failure error={error} />}
    </section>
  )
}

/** `a, b` as a list. */
export const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
