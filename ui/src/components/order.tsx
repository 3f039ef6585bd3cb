import { useMemo } from 'react'
import { useParameter } from '../shell/use-place.tsx'
import { strings } from '../strings.ts'
import { Select } from './select.tsx'

/** The id of a column, with `-` in front for the other direction; empty: as the rows were given. */
type Order = string

export type Sortable<Row> = {
  readonly id: string
  readonly title: string
  /** If readers may sort the rows by it. */
  readonly by?: (row: Row) => string | number
}

type Ordering = { readonly order: Order; readonly setOrder: (order: Order) => void }

export const directionOf = (order: Order, id: string) =>
  order === id ? 'ascending' : order === `-${id}` ? 'descending' : 'none'

/** The rows of a table in the order that its reader has chosen. It is a part of the address. */
export function useOrder<Row>(table: string, columns: readonly Sortable<Row>[], rows: readonly Row[]) {
  const [order, setOrder] = useParameter(`sort-${table}`)
  const sorted = useMemo(() => {
    const by = columns.find(({ id }) => directionOf(order, id) !== 'none')?.by
    if (by === undefined) return rows
    const sign = order.startsWith('-') ? -1 : 1
    return rows.toSorted((a, b) => sign * compare(by(a), by(b)))
  }, [columns, order, rows])
  return { sorted, order, setOrder }
}

const { compare: compareTexts } = new Intl.Collator(undefined, { numeric: true })

const compare = (a: string | number, b: string | number): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b))

/** In the heading of a column. A press sorts, another one turns the order around, and a third one ends it. */
export function SortButton<Row>({
  column: { id, title },
  order,
  setOrder,
}: Ordering & { column: Sortable<Row> }) {
  const direction = directionOf(order, id)
  const next = { none: id, ascending: `-${id}`, descending: '' }[direction]
  return (
    <button type="button" className={`sort ${direction}`} onClick={() => setOrder(next)}>
      {title}
    </button>
  )
}

type Choice<Row> = Ordering & { readonly columns: readonly Sortable<Row>[] }

/** The same choice where the rows are cards, which have no heading in sight. */
export function OrderSelect<Row>({ columns, order, setOrder }: Choice<Row>) {
  const sortable = columns.filter(({ by }) => by !== undefined)
  if (sortable.length === 0) return null
  return (
    <Select
      label={strings.sort.by}
      value={order}
      onChange={setOrder}
      options={[
        ['', strings.sort.none],
        ...sortable.flatMap(({ id, title }) => [
          [id, strings.sort.ascending(title)] as const,
          [`-${id}`, strings.sort.descending(title)] as const,
        ]),
      ]}
    />
  )
}
