import type { ReactNode } from 'react'
import { FieldError } from 'react-aria-components/FieldError'
import { Text } from 'react-aria-components/Text'
import { Input, Label, TextArea, TextField, type TextFieldProps } from 'react-aria-components/TextField'
import { strings } from '../strings.ts'

type Props = Omit<TextFieldProps, 'className' | 'children'> & {
  readonly label: string
  readonly hint?: ReactNode
  readonly optional?: boolean
  /** What is wrong with the value, in the server's words. */
  readonly error?: string | undefined
  /** Lines of a longer text. */
  readonly rows?: number
  readonly mono?: boolean
}

/** A text field with its label, a hint and what is wrong with it. */
export const Field = ({ label, hint, optional = false, error, rows, mono = false, ...props }: Props) => (
  <TextField
    {...props}
    isInvalid={error !== undefined}
    // an error may be outdated: it must not keep the browser from sending the form
    validationBehavior={error === undefined ? 'native' : 'aria'}
    className="field"
  >
    <Label>
      {label}
      {optional && <span className="optional"> ({strings.optional})</span>}
    </Label>
    {rows === undefined ? (
      <Input className={mono ? 'mono' : ''} spellCheck={false} />
    ) : (
      <TextArea rows={rows} className={mono ? 'mono' : ''} spellCheck={!mono} />
    )}
    {hint !== undefined && (
      <Text slot="description" className="hint">
        {hint}
      </Text>
    )}
    <FieldError className="field-error">{error}</FieldError>
  </TextField>
)
