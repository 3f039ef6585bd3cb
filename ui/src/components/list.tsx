import { type ReactNode, useRef } from 'react'
import { NoMatch } from './empty-state.tsx'
import { titleCutText } from './title-cut-text.ts'
import { useRows } from './use-rows.ts'
import { visibleNode } from './visible-node.ts'

type Props<Row> = {
  /** Names the list in the document; no other list or table in the sources has this name. */
  readonly name: string
  readonly label: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly children: (row: Row) => ReactNode
}

/** A list of any length, of what would be a table with one column: only the rows in sight are in the document. */
export function List<Row>({ name, label, rows, keyOf, children }: Props<Row>) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useRows(name, rows, keyOf, scroller)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <div className="table-scroller" ref={scroller} tabIndex={0} role="group" aria-label={label}>
      <ul
        aria-label={label}
        className="list"
        data-rows={name}
        style={{ height: virtual.getTotalSize() }}
        onPointerOver={titleCutText}
      >
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index]
          return row === undefined ? null : (
            <li
              aria-setsize={rows.length}
              aria-posinset={index + 1}
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              style={{ transform: `translateY(${start}px)` }}
            >
              {visibleNode(children(row))}
            </li>
          )
        })}
      </ul>
      {rows.length === 0 && <NoMatch />}
    </div>
  )
}
