import { useId } from 'react'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { strings } from '../../strings.ts'
import { charsets, type Row, type TypedMade, usualMade } from './editor-rows.ts'

const text = strings.secrets

type Props = {
  readonly row: Row
  readonly problem: { readonly name?: string; readonly value?: string } | undefined
  readonly isShown: boolean
  /** The server can make the value. */
  readonly mayGenerate: boolean
  readonly onChange: (changed: Partial<Row>) => void
  readonly onRemove: () => void
}

/** A field of a secret: its name, and its value or how the server makes it. */
export const EditorRow = ({ row, problem, isShown, mayGenerate, onChange, onRemove }: Props) => (
  <li className={isShown ? '' : 'masked'}>
    <Field
      label={text.fieldName}
      mono
      value={row.name}
      error={problem?.name}
      onChange={(name) => onChange({ name })}
    />
    {row.made === undefined ? (
      <>
        <Field
          label={text.valueOf(row.name)}
          mono
          rows={Math.min(8, row.value.split('\n').length)}
          value={row.value}
          error={problem?.value}
          onChange={(value) => onChange({ value })}
        />
        <JsonMark row={row} onChange={(isJson) => onChange({ isJson })} />
      </>
    ) : (
      <MadeFields row={row} onChange={onChange} />
    )}
    <div className="row-actions">
      {mayGenerate && (
        <Button
          kind="quiet"
          aria-label={row.made === undefined ? text.generateField(row.name) : text.typeField(row.name)}
          onPress={() => onChange({ made: row.made === undefined ? usualMade : undefined })}
        >
          {row.made === undefined ? text.generate : text.typeIt}
        </Button>
      )}
      <Button kind="quiet" aria-label={text.removeField(row.name)} onPress={onRemove}>
        {text.remove}
      </Button>
    </div>
  </li>
)

function MadeFields({ row: { name, made = usualMade }, onChange }: Pick<Props, 'row' | 'onChange'>) {
  const change = (changed: Partial<TypedMade>) => onChange({ made: { ...made, ...changed } })
  return (
    <>
      <Select
        label={text.charsetOf(name)}
        value={made.charset}
        onChange={(value) =>
          change({
            charset: value === 'policy' ? value : (charsets.find((one) => one === value) ?? made.charset),
          })
        }
        options={[...charsets, 'policy' as const].map((one) => [one, text.charsets[one]])}
      />
      {made.charset === 'policy' ? (
        <Field
          label={text.passwordPolicyOf(name)}
          hint={text.passwordPolicyHint}
          mono
          isRequired
          value={made.policy}
          onChange={(policy) => change({ policy })}
        />
      ) : (
        <Field
          label={text.lengthOf(name)}
          type="number"
          isRequired
          value={made.length}
          onChange={(length) => change({ length })}
        />
      )}
      <label className="check-field">
        <input
          type="checkbox"
          checked={made.keep}
          aria-label={text.keepOf(name)}
          onChange={({ target }) => change({ keep: target.checked })}
        />
        {text.keep}
      </label>
    </>
  )
}

function JsonMark({ row, onChange }: { readonly row: Row; readonly onChange: (isJson: boolean) => void }) {
  const id = useId()
  return (
    <div className="json-mark">
      <input
        id={id}
        type="checkbox"
        checked={row.isJson}
        onChange={({ target }) => onChange(target.checked)}
        aria-label={text.isJsonOf(row.name)}
      />
      <label htmlFor={id} aria-hidden="true">
        {text.isJson}
      </label>
    </div>
  )
}
