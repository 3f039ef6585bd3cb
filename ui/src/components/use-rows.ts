import { useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useLayoutEffect } from 'react'
import { useKeptScroll } from './use-kept-scroll.ts'

/** One density for all tables and lists; styles/table.css. */
export const rowHeight = 40

/** Rows of which only those in sight are in the document. */
export function useRows<Row>(
  name: string,
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  scroller: RefObject<HTMLDivElement | null>,
  height = rowHeight,
) {
  const initialOffset = useKeptScroll(scroller, name)
  const virtual = useVirtualizer({
    count: rows.length,
    initialOffset,
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
