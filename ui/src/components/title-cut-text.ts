import type { PointerEvent } from 'react'

/** The pointer over a text that is cut shows all of it. */
export function titleCutText({ target }: PointerEvent): void {
  const cell =
    target instanceof Element ? target.closest<HTMLElement>('[role=cell], [role=columnheader], li') : null
  if (cell === null) return
  const isCut = cell.scrollWidth > cell.clientWidth || cell.scrollHeight > cell.clientHeight
  if (isCut) cell.title = cell.textContent
  else cell.removeAttribute('title')
}
