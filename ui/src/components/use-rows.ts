import { useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useLayoutEffect } from 'react'

/** One density for all tables and lists; styles/table.css. */
export const rowHeight = 40

/** Rows of which only those in sight are in the document. */
export function useRows<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  scroller: RefObject<HTMLDivElement | null>,
  height = rowHeight,
) {
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    getItemKey: (index) => {
      const row = rows[index]
      return row === undefined ? index : keyOf(row)
    },
    overscan: 12,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was measured in the other layout says nothing
  useLayoutEffect(() => virtual.measure(), [height])
  return virtual
}
