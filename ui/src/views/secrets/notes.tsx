import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { strings } from '../../strings.ts'

const text = strings.secrets

/** One pair of custom metadata. */
export type Note = { readonly id: number; readonly name: string; readonly value: string }

export const notesOf = (stored: Readonly<Record<string, string>>): readonly Note[] =>
  Object.entries(stored).map(([name, value], id) => ({ id, name, value }))

export const recordOf = (notes: readonly Note[]): Record<string, string> =>
  Object.fromEntries(
    notes.filter(({ name, value }) => name !== '' || value !== '').map(({ name, value }) => [name, value]),
  )

/** The mistake in a name. */
export function problemOf(notes: readonly Note[], { id, name, value }: Note): string | undefined {
  if (name === '') return value === '' ? undefined : text.nameMissing
  return notes.some((other) => other.name === name && other.id < id) ? text.nameTwice : undefined
}

type Props = { readonly notes: readonly Note[]; readonly onChange: (notes: readonly Note[]) => void }

/** Edits custom metadata, a name and a value in each row. */
export function Notes({ notes, onChange }: Props) {
  const change = (id: number, changed: Partial<Note>) =>
    onChange(notes.map((note) => (note.id === id ? { ...note, ...changed } : note)))
  const nextId = Math.max(0, ...notes.map(({ id }) => id + 1))
  return (
    <fieldset className="notes">
      <legend>{text.notes}</legend>
      <p className="hint">{text.notesHint}</p>
      {notes.map((note) => (
        <div className="note-row" key={note.id}>
          <Field
            label={text.name}
            mono
            value={note.name}
            error={problemOf(notes, note)}
            onChange={(name) => change(note.id, { name })}
          />
          <Field
            label={text.valueOf(note.name)}
            rows={note.value.split('\n').length}
            value={note.value}
            onChange={(value) => change(note.id, { value })}
          />
          <Button
            kind="quiet"
            aria-label={text.removeField(note.name)}
            onPress={() => onChange(notes.filter(({ id }) => id !== note.id))}
          >
            {text.remove}
          </Button>
        </div>
      ))}
      <div className="actions">
        <Button onPress={() => onChange([...notes, { id: nextId, name: '', value: '' }])}>
          {text.addNote}
        </Button>
      </div>
    </fieldset>
  )
}
