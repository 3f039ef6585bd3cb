/**
 * Keeps the focus where the person works. If the element that had it leaves the page – a button that opened an editor,
 * a row that was removed, a link to another folder –, the heading of what is around it takes the focus. Without this,
 * it falls to the body, and keyboards and screen readers begin anew at the top.
 */
export function keepFocus(): void {
  let last: Element | undefined
  /** The element inside the page that had the focus last, and all that is around it. A dialog lies above the page. */
  let trail: readonly Element[] = []
  /** The page, as long as it shows no heading yet. */
  let waiting: Element | undefined
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof Element)) return
    last = target
    if (target !== waiting) waiting = undefined
    if (target.closest('main') !== null) trail = [...around(target)]
  })
  const look = () => {
    const isLost = document.activeElement === document.body && last?.isConnected === false
    // a dialog is gone: what opened it goes on
    if (isLost && trail[0] instanceof HTMLElement && trail[0].isConnected) {
      trail[0].focus({ preventScroll: true })
      if (document.activeElement === trail[0]) return
    }
    if (!isLost && (waiting === undefined || document.activeElement !== waiting)) return
    const main = document.querySelector('main')
    const place = trail.find((element) => element.isConnected && headingIn(element) !== null) ?? main
    if (place === null) return
    const heading = headingIn(place)
    if (heading !== null) focus(heading)
    else if (place !== waiting) {
      waiting = place
      focus(place)
    }
  }
  // after whatever gives the focus back by itself: a dialog does so in the next frame
  const soon = () => requestAnimationFrame(() => requestAnimationFrame(look))
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true })
}

function* around(element: Element): Generator<Element> {
  for (let one: Element | null = element; one !== null && one !== document.body; one = one.parentElement)
    yield one
}

const headingIn = (element: Element) => element.querySelector<HTMLElement>('h1, h2, h3')

function focus(element: Element): void {
  if (!(element instanceof HTMLElement)) return
  if (!element.hasAttribute('tabindex')) element.tabIndex = -1
  element.focus({ preventScroll: true })
}
