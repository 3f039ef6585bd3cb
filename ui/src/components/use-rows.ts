import { useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useCallback, useLayoutEffect, useRef } from 'react'
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
  // another function would have every row laid out again
  const getItemKey = useCallback(
    (index: number) => {
      const row = rows[index]
      return row === undefined ? index : keyOf(row)
    },
    [rows, keyOf],
  )
  const virtual = useVirtualizer({
    count: rows.length,
    initialOffset,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    getItemKey,
    overscan: 12,
  })
  const laidOut = useRef(height)
  useLayoutEffect(() => {
    // what was measured in the other layout says nothing
    if (laidOut.current !== height) virtual.measure()
    laidOut.current = height
  }, [height, virtual])
  return virtual
}
