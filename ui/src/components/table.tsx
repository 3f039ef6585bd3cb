import { type CSSProperties, type ReactNode, useRef } from 'react'
import { NoMatch } from './empty-state.tsx'
import { directionOf, OrderSelect, type Sortable, SortButton, useOrder } from './order.tsx'
import { titleCutText } from './title-cut-text.ts'
import { useIsNarrow } from './use-is-narrow.ts'
import { rowHeight, useRows } from './use-rows.ts'
import { visibleNode } from './visible-node.ts'

export type Column<Row> = Sortable<Row> & {
  /** A share of the width, `2fr`, or as much as its texts need, `12rem`. */
  readonly width?: string
  /** Longer texts are wrapped, up to three lines; others are cut at the end of the line. */
  readonly wraps?: boolean
  readonly cell: (row: Row) => ReactNode
}

type Props<Row> = {
  /** Names the table in the document; no other table or list in the sources has this name. */
  readonly name: string
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}

/** A line for each cell below the heading, as on a phone. */
const cardHeight = (columns: number) => rowHeight + (columns - 1) * 18

/** A column that takes a share of the width has at least this. */
const leastShareRem = 10

/** From this width on, columns that do not fit are found by scrolling sideways. */
const widestCardsRem = 56.25

/** A table of any length: only the rows in sight are in the document. A row that does not fit is a card. */
export function Table<Row>({ name, label, columns, rows: given, keyOf }: Props<Row>) {
  const { sorted: rows, ...choice } = useOrder(name, columns, given)
  const scroller = useRef<HTMLDivElement>(null)
  const neededRem = columns.reduce((sum, column) => sum + leastRemOf(column), 1)
  const areCards = useIsNarrow(scroller, Math.min(neededRem, widestCardsRem))
  const virtual = useRows(name, rows, keyOf, scroller, areCards ? cardHeight(columns.length) : rowHeight)
  return (
    <>
      {areCards && <OrderSelect columns={columns} {...choice} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <div className="table-scroller" ref={scroller} tabIndex={0} role="group" aria-label={label}>
        <div
          role="table"
          aria-label={label}
          aria-rowcount={rows.length + 1}
          className={areCards ? 'table cards' : 'table'}
          data-rows={name}
          style={tracksOf(columns, neededRem)}
          onPointerOver={titleCutText}
        >
          <div role="rowgroup" className="table-head">
            <div role="row" aria-rowindex={1} className="table-row">
              {columns.map((column) => (
                <div
                  role="columnheader"
                  key={column.id}
                  aria-sort={column.by && directionOf(choice.order, column.id)}
                >
                  {column.by === undefined || areCards ? (
                    column.title
                  ) : (
                    <SortButton column={column} {...choice} />
                  )}
                </div>
              ))}
            </div>
          </div>
          <div role="rowgroup" className="table-body" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((item) => {
              const row = rows[item.index]
              return row === undefined ? null : (
                <div
                  role="row"
                  aria-rowindex={item.index + 2}
                  key={item.key}
                  ref={virtual.measureElement}
                  data-index={item.index}
                  className="table-row"
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  {columns.map(({ id, title, wraps = false, cell }) => (
                    <div role="cell" key={id} data-title={title} className={wraps ? 'wraps' : ''}>
                      {visibleNode(cell(row))}
                    </div>
                  ))}
                </div>
              )
            })}
          </div>
        </div>
        {rows.length === 0 && <NoMatch />}
      </div>
    </>
  )
}

type Width = Pick<Column<unknown>, 'width'>

const leastRemOf = ({ width = '1fr' }: Width): number =>
  width.endsWith('rem') ? Number.parseFloat(width) : leastShareRem

const trackOf = ({ width = '1fr' }: Width): string =>
  width.endsWith('rem') ? width : `minmax(${leastShareRem}rem, ${width})`

const tracksOf = (columns: readonly Width[], neededRem: number): CSSProperties => ({
  '--tracks': columns.map(trackOf).join(' '),
  '--needed': `${neededRem}rem`,
})

declare module 'react' {
  interface CSSProperties {
    [property: `--${string}`]: string
  }
}
