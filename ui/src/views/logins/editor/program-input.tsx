import type { ReactNode } from 'react'
import { Field } from '../../../components/field.tsx'
import { strings } from '../../../strings.ts'
import { MappingRows } from './claim-rows.tsx'
import { type Program, programOf } from './program.ts'

const text = strings.logins.cel

type Props = {
  readonly label: string
  readonly hint: ReactNode
  readonly error: string | undefined
  readonly value: unknown
  readonly onChange: (value: Program) => void
}

/** A program: its variables, which are evaluated in order, and the expression that decides. */
export function ProgramInput({ label, hint, error, value, onChange }: Props) {
  const program = programOf(value)
  return (
    <div className="stack">
      <MappingRows
        label={text.variables}
        hint={text.variablesHint}
        error={undefined}
        value={Object.fromEntries(program.variables.map(({ name, expression }) => [name, expression]))}
        onChange={(variables) =>
          onChange({
            ...program,
            variables: Object.entries(variables).map(([name, expression]) => ({ name, expression })),
          })
        }
      />
      <Field
        label={label}
        hint={hint}
        error={error}
        isRequired
        mono
        rows={8}
        value={program.expression}
        onChange={(expression) => onChange({ ...program, expression })}
      />
    </div>
  )
}
