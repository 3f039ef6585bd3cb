import { isDuration, shortDuration } from '../components/time.tsx'
import { visible } from '../components/visible.ts'
import { strings } from '../strings.ts'

const text = strings.history

type Values = Readonly<Record<string, unknown>>
type Change = { readonly name: string; readonly before: unknown; readonly after: unknown }

const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a field says nothing: an absent one is the same as an empty one. */
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const isSame = (one: unknown, other: unknown): boolean =>
  (isEmpty(one) && isEmpty(other)) || JSON.stringify(one) === JSON.stringify(other)

/** The fields that differ; of maps, their members that do. */
const changesBetween = (before: Values, after: Values): Change[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name): Change[] => {
    const [one, other] = [before[name], after[name]]
    if (isSame(one, other)) return []
    if (!isMap(one) || !isMap(other)) return [{ name, before: one, after: other }]
    return changesBetween(one, other).map((change) => ({ ...change, name: `${name}.${change.name}` }))
  })

/** Shows each changed field with its value before and after. */
export const ChangedFields = ({
  before,
  after,
  labels = text,
}: {
  readonly before: Values
  readonly after: Values
  /** The names of the two sides. */
  readonly labels?: { readonly before: string; readonly after: string }
}) => {
  const changes = changesBetween(before, after)
  return changes.length === 0 ? (
    <p>{text.nothingChanges}</p>
  ) : (
    <dl className="facts changed-fields">
      {changes.map(({ name, before: from, after: to }) => (
        <div key={name}>
          <dt className="mono">{visible(name)}</dt>
          <dd>
            <Value label={labels.before} value={shown(name, from)} />{' '}
            <Value label={labels.after} value={shown(name, to)} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

const shown = (name: string, value: unknown): unknown =>
  isDuration(name, value) ? shortDuration(value) : value

const Value = ({ label, value }: { readonly label: string; readonly value: unknown }) => (
  <p>
    <span className="hint">{label}</span>{' '}
    {isEmpty(value) ? text.nothing : <code>{visible(textOf(value))}</code>}
  </p>
)

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
