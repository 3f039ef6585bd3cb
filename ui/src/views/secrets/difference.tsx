import { Failure } from '../../components/failure.tsx'
import { Secret } from '../../components/secret.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { visible } from '../../components/visible.ts'
import { PlaceLink } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import type { Values } from './calls.ts'
import { type SecretPlace, useSecret } from './place.ts'
import { shownValue } from './values.tsx'

const text = strings.secrets

type Props = { readonly place: SecretPlace; readonly from: number; readonly to: number }

type Change = {
  readonly name: string
  readonly kind: 'added' | 'removed' | 'changed' | 'same'
  readonly before: string | undefined
  readonly after: string | undefined
}

/** What two versions have in common, by field. */
export function Difference({ place, from, to }: Props) {
  const [older, newer] = [Math.min(from, to), Math.max(from, to)]
  const before = useSecret(place, older)
  const after = useSecret(place, newer)
  return (
    <section className="panel" aria-labelledby="difference">
      <div className="panel-head">
        <h2 id="difference">{text.difference(older, newer)}</h2>
        <PlaceLink view="secrets" parts={[place.mount, place.path]} search={{ version: String(to) }}>
          {strings.close}
        </PlaceLink>
      </div>
      <Failure error={before.error ?? after.error} />
      {before.data !== undefined && after.data !== undefined && (
        <Table
          name="difference"
          label={text.difference(older, newer)}
          columns={columns}
          rows={changesOf(before.data?.data ?? {}, after.data?.data ?? {})}
          keyOf={({ name }) => name}
        />
      )}
    </section>
  )
}

const masked = (value: string | undefined, label: string) =>
  value === undefined ? '–' : <Secret value={value} label={label} />

const columns: readonly Column<Change>[] = [
  { id: 'name', title: text.fieldName, cell: ({ name }) => <code>{visible(name)}</code> },
  { id: 'kind', title: text.change, width: '7rem', cell: ({ kind }) => text.changes[kind] },
  {
    id: 'before',
    title: text.before,
    width: '2fr',
    cell: ({ name, before }) => masked(before, `${name}, ${text.before}`),
  },
  {
    id: 'after',
    title: text.after,
    width: '2fr',
    cell: ({ name, after }) => masked(after, `${name}, ${text.after}`),
  },
]

function changesOf(before: Values, after: Values): Change[] {
  const [old, fresh] = [shownFields(before), shownFields(after)]
  return [...new Set([...old.keys(), ...fresh.keys()])].toSorted().map((name) => {
    const [was, is] = [old.get(name), fresh.get(name)]
    const kind = was === undefined ? 'added' : is === undefined ? 'removed' : was === is ? 'same' : 'changed'
    return { name, kind, before: was, after: is }
  })
}

const shownFields = (values: Values): ReadonlyMap<string, string> =>
  new Map(Object.entries(values).map(([name, value]) => [name, shownValue(value)]))
