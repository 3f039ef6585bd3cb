import { type RefObject, useLayoutEffect, useState } from 'react'

/** Whether an element is narrower than so many times the size of the page's letters. */
export function useIsNarrow(element: RefObject<HTMLElement | null>, leastRem: number): boolean {
  const [isNarrow, setNarrow] = useState(false)
  useLayoutEffect(() => {
    const measured = element.current
    if (measured === null) return
    const measure = () => {
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
      setNarrow(measured.clientWidth < leastRem * rem)
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(measured)
    return () => observer.disconnect()
  }, [element, leastRem])
  return isNarrow
}
