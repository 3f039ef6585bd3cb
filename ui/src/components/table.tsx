import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useRef } from 'react'

export type Column<Row> = {
  readonly id: string
  readonly title: string
  /** A track of a CSS grid: `2fr`, `12rem`. */
  readonly width?: string
  readonly cell: (row: Row) => ReactNode
}

type Props<Row> = {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}

const rowHeight = 40

/** A table of any length: only the rows in sight are in the document. */
export function Table<Row>({ label, columns, rows, keyOf }: Props<Row>) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => {
      const row = rows[index]
      return row === undefined ? index : keyOf(row)
    },
    overscan: 12,
  })
  const tracks = { gridTemplateColumns: columns.map(({ width = '1fr' }) => `minmax(0, ${width})`).join(' ') }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <div className="table-scroller" ref={scroller} tabIndex={0} role="group" aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1} className="table">
        <div role="rowgroup" className="table-head">
          <div role="row" aria-rowindex={1} className="table-row" style={tracks}>
            {columns.map(({ id, title }) => (
              <div role="columnheader" key={id}>
                {title}
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
                style={{ ...tracks, transform: `translateY(${item.start}px)` }}
              >
                {columns.map(({ id, title, cell }) => (
                  <div role="cell" key={id} data-title={title}>
                    {cell(row)}
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}
