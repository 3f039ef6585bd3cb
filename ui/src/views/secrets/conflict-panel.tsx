import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Secret } from '../../components/secret.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { visible } from '../../components/visible.ts'
import { strings } from '../../strings.ts'
import type { Values } from './calls.ts'
import { type Conflict, type Disputed, disputedFields, merged, type Side } from './conflict.ts'
import { shownValue } from './values.tsx'
import './conflict.css'

const text = strings.secrets.conflict

type Props = {
  readonly conflict: Conflict
  readonly onSave: (values: Values) => Promise<unknown>
  readonly onEdit: (values: Values) => void
  readonly onTakeTheirs: () => void
}

/** Two people wrote at once: both sides, field by field, and the ways on. */
export function ConflictPanel({ conflict, onSave, onEdit, onTakeTheirs }: Props) {
  const { mine, theirs, version, isFirst = false, at, by } = conflict
  const [picks, setPicks] = useState<ReadonlyMap<string, Side>>()
  const [error, setError] = useState<unknown>()
  const fields = disputedFields(conflict)
  const sideOf = ({ name, changedBy }: Disputed): Side => picks?.get(name) ?? changedBy
  const isMerging = picks !== undefined
  const chosen = isMerging ? merged(fields, sideOf) : mine
  const pick = ({ name }: Disputed, side: Side) => setPicks(new Map(picks).set(name, side))
  return (
    <section className="conflict" aria-labelledby="conflict">
      <h3 id="conflict">
        {version === 0 ? text.gone : isFirst ? text.changedMeanwhile : text.title(version)}
      </h3>
      <p role="status">
        {by !== undefined && at !== undefined && (
          <>
            {visible(text.by(by))} <Time at={at} />.{' '}
          </>
        )}
        {text.nothingLost}
      </p>
      {theirs === undefined ? (
        <p>{text.mayNotRead}</p>
      ) : (
        <Table
          name="conflict"
          label={text.sides}
          columns={[...columns, ...(isMerging ? [pickColumn(sideOf, pick)] : [])]}
          rows={fields}
          keyOf={({ name }) => name}
        />
      )}
      <Failure error={error} />
      <div className="actions">
        <Button kind="primary" onPress={() => void onSave(chosen).then(() => setError(undefined), setError)}>
          {saveText(isMerging, conflict)}
        </Button>
        <Button onPress={() => onEdit(chosen)}>{isMerging ? text.editMerge : text.editMine}</Button>
        {theirs !== undefined && !isMerging && (
          <Button onPress={() => setPicks(new Map())}>{text.merge}</Button>
        )}
        <Button onPress={onTakeTheirs}>{text.takeTheirs}</Button>
      </div>
    </section>
  )
}

function saveText(isMerging: boolean, { version, isFirst = false }: Conflict): string {
  if (isFirst) return isMerging ? text.saveTheMerge : text.saveOwn
  return isMerging ? text.saveMerge(version + 1) : text.saveMine(version + 1)
}

const side = (field: Disputed, which: Side) =>
  field[which] === undefined ? (
    text.absent
  ) : (
    <Secret value={shownValue(field[which])} label={`${field.name}, ${text[which]}`} />
  )

const columns: readonly Column<Disputed>[] = [
  {
    id: 'name',
    title: strings.secrets.fieldName,
    cell: ({ name, isSame, changedBy }) => (
      <>
        <code>{visible(name)}</code>{' '}
        <span className="hint">{isSame ? text.same : text.changed[changedBy]}</span>
      </>
    ),
  },
  { id: 'mine', title: text.mine, width: '2fr', cell: (field) => side(field, 'mine') },
  { id: 'theirs', title: text.theirs, width: '2fr', cell: (field) => side(field, 'theirs') },
]

const pickColumn = (
  sideOf: (field: Disputed) => Side,
  onPick: (field: Disputed, side: Side) => void,
): Column<Disputed> => ({
  id: 'pick',
  title: text.keep,
  width: '10rem',
  cell: (field) =>
    field.isSame ? null : (
      <fieldset className="picks">
        <legend className="hidden">{text.keepOf(field.name)}</legend>
        {(['mine', 'theirs'] as const).map((which) => (
          <label key={which}>
            <input
              type="radio"
              name={`pick ${field.name}`}
              checked={sideOf(field) === which}
              onChange={() => onPick(field, which)}
            />
            {text[which]}
          </label>
        ))}
      </fieldset>
    ),
})
