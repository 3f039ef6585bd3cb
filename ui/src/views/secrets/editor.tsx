import { useEffect, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { strings } from '../../strings.ts'
import type { Generate, Values } from './calls.ts'
import { EditorRow } from './editor-row.tsx'
import { generateOf, newRow, problemsOf, type Row, rowsOf, valuesOf, valuesOfJson } from './editor-rows.ts'

const text = strings.secrets
const shownMs = 30_000

type Props = {
  readonly before: Values
  /** Fields whose values the server makes; absent where it cannot. */
  readonly generate?: Generate | undefined
  readonly submit: string
  readonly onSave: (values: Values, generate: Generate) => Promise<unknown>
  readonly onCancel?: (() => void) | undefined
}

/**
 * Edits the fields of a secret, one by one or as one JSON object. Values are masked until the person asks for them,
 * and again 30 seconds later.
 */
export function Editor({ before, generate, submit, onSave, onCancel }: Props) {
  const [rows, setRows] = useState<readonly Row[]>(() => {
    const fields = rowsOf(before, generate)
    return fields.length > 0 ? fields : [newRow()]
  })
  /** Undefined: the values are edited field by field. */
  const [json, setJson] = useState<string>()
  const [isShown, setShown] = useState(false)
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    if (!isShown) return
    const timer = setTimeout(() => setShown(false), shownMs)
    return () => clearTimeout(timer)
  }, [isShown])
  const parsed = json === undefined ? undefined : valuesOfJson(json)
  const isBadJson = json !== undefined && parsed === undefined
  const problems = problemsOf(rows, parsed)
  const isWrong = isBadJson || problems.size > 0
  const markSaved = useUnsaved(isWrong ? null : [parsed ?? valuesOf(rows), generateOf(rows)])
  const change = (id: number, changed: Partial<Row>) =>
    setRows(rows.map((row) => (row.id === id ? { ...row, ...changed } : row)))
  const save = useAction(async () => {
    if (isWrong) return
    try {
      await onSave(parsed ?? valuesOf(rows), generateOf(rows))
      markSaved()
    } catch (failure) {
      setError(failure)
    }
  })
  const switchForm = () => {
    const made = rows.filter((row) => row.made !== undefined)
    if (parsed === undefined) setJson(JSON.stringify(valuesOf(rows), undefined, 2))
    else setJson(undefined)
    setRows(parsed === undefined ? made : [...rowsOf(parsed), ...made])
  }
  return (
    <form className="editor" onSubmit={(event) => void save(event)} autoComplete="off">
      {json !== undefined && (
        <div className={isShown ? '' : 'masked'}>
          <Field
            label={text.allAsJson}
            mono
            rows={Math.min(24, json.split('\n').length + 1)}
            value={json}
            error={isBadJson ? text.notObject : undefined}
            onChange={setJson}
          />
        </div>
      )}
      <ul className="fields">
        {rows.map((row) => (
          <EditorRow
            key={row.id}
            row={row}
            problem={problems.get(row.id)}
            isShown={isShown}
            mayGenerate={generate !== undefined && json === undefined}
            onChange={(changed) => change(row.id, changed)}
            onRemove={() => setRows(rows.filter(({ id }) => id !== row.id))}
          />
        ))}
      </ul>
      <div className="actions">
        {json === undefined && <Button onPress={() => setRows([...rows, newRow()])}>{text.addField}</Button>}
        <Button onPress={() => setShown(!isShown)}>{isShown ? text.hideValues : text.showValues}</Button>
        <Button onPress={switchForm} isDisabled={isWrong}>
          {json === undefined ? text.editAsJson : text.editAsFields}
        </Button>
      </div>
      <Failure error={error} />
      <div className="actions">
        <Button type="submit" kind="primary">
          {submit}
        </Button>
        {onCancel !== undefined && <Button onPress={onCancel}>{strings.cancel}</Button>}
      </div>
    </form>
  )
}
