import { type FormEvent, useEffect, useId, useState } from 'react'
import { parseJson } from '../../api/json.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { strings } from '../../strings.ts'
import type { Values } from './calls.ts'
import { shownValue } from './values.tsx'

const text = strings.secrets
const shownMs = 30_000

type Row = { readonly id: number; readonly name: string; readonly value: string; readonly isJson: boolean }

type Props = {
  readonly before: Values
  readonly submit: string
  readonly onSave: (values: Values) => Promise<unknown>
  readonly onCancel?: (() => void) | undefined
}

let lastId = 0
const newRow = (name = '', value: unknown = ''): Row => {
  lastId += 1
  return { id: lastId, name, value: shownValue(value), isJson: typeof value !== 'string' }
}

/** Edits the fields of a secret. Values are masked until the person asks for them, and again 30 seconds later. */
export function Editor({ before, submit, onSave, onCancel }: Props) {
  const [rows, setRows] = useState<readonly Row[]>(() => {
    const fields = Object.entries(before).map(([name, value]) => newRow(name, value))
    return fields.length > 0 ? fields : [newRow()]
  })
  const [isShown, setShown] = useState(false)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    if (!isShown) return
    const timer = setTimeout(() => setShown(false), shownMs)
    return () => clearTimeout(timer)
  }, [isShown])
  const problems = problemsOf(rows)
  const change = (id: number, changed: Partial<Row>) =>
    setRows(rows.map((row) => (row.id === id ? { ...row, ...changed } : row)))
  const save = async (event: FormEvent) => {
    event.preventDefault()
    if (isBusy || problems.size > 0) return
    setBusy(true)
    try {
      await onSave(valuesOf(rows))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form className="editor" onSubmit={(event) => void save(event)} autoComplete="off">
      <ul className="fields">
        {rows.map((row) => (
          <li key={row.id} className={isShown ? '' : 'masked'}>
            <Field
              label={text.fieldName}
              mono
              value={row.name}
              error={problems.get(row.id)?.name}
              onChange={(name) => change(row.id, { name })}
            />
            <Field
              label={text.valueOf(row.name)}
              mono
              rows={Math.min(8, row.value.split('\n').length)}
              value={row.value}
              error={problems.get(row.id)?.value}
              onChange={(value) => change(row.id, { value })}
            />
            <JsonMark row={row} onChange={(isJson) => change(row.id, { isJson })} />
            <Button
              kind="quiet"
              aria-label={text.removeField(row.name)}
              onPress={() => setRows(rows.filter(({ id }) => id !== row.id))}
            >
              {text.remove}
            </Button>
          </li>
        ))}
      </ul>
      <div className="actions">
        <Button onPress={() => setRows([...rows, newRow()])}>{text.addField}</Button>
        <Button onPress={() => setShown(!isShown)}>{isShown ? text.hideValues : text.showValues}</Button>
      </div>
      <Failure error={error} />
      <div className="actions">
        <Button type="submit" kind="primary" isDisabled={isBusy}>
          {submit}
        </Button>
        {onCancel !== undefined && <Button onPress={onCancel}>{strings.cancel}</Button>}
      </div>
    </form>
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

type Problem = { readonly name?: string; readonly value?: string }

function problemsOf(rows: readonly Row[]): ReadonlyMap<number, Problem> {
  const problems = new Map<number, Problem>()
  const names = new Set<string>()
  for (const { id, name, value, isJson } of rows) {
    if (name === '' && value === '') continue
    const problem = {
      ...(name === '' && { name: text.nameMissing }),
      ...(names.has(name) && { name: text.nameTwice }),
      ...(isJson && !isJsonText(value) && { value: text.notJson }),
    }
    if (Object.keys(problem).length > 0) problems.set(id, problem)
    names.add(name)
  }
  return problems
}

const valuesOf = (rows: readonly Row[]): Values =>
  Object.fromEntries(
    rows
      .filter(({ name }) => name !== '')
      .map(({ name, value, isJson }) => [name, isJson ? parseJson(value) : value]),
  )

const isJsonText = (value: string): boolean => {
  try {
    parseJson(value)
    return true
  } catch {
    return false
  }
}
