import { type RefObject, useEffect } from 'react'
import { visible } from '../components/visible.ts'
import { strings } from '../strings.ts'
import { type Place, usePlace } from './use-place.tsx'

/** The title of the window names what is open: as the heading says, and as the address does. */
export function useTitle(main: RefObject<HTMLElement | null>): void {
  const place = usePlace()
  const rest = JSON.stringify(namesOf(place))
  useEffect(() => {
    if (main.current === null) return
    const names: readonly string[] = JSON.parse(rest)
    const say = () => {
      const heading = main.current?.querySelector('h1')?.textContent ?? ''
      document.title = visible(different([heading, ...names, strings.product]).join(' · '))
    }
    say()
    const observer = new MutationObserver(say)
    observer.observe(main.current, { childList: true, characterData: true, subtree: true })
    return () => observer.disconnect()
  }, [main, rest])
}

const id = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

/** The innermost part first. An id says nothing to people. */
const namesOf = ({ view, parts }: Place): readonly string[] => [
  ...parts.filter((part) => !id.test(part)).toReversed(),
  (Object.hasOwn(strings.views, view) && strings.views[view]) || '',
]

/** A heading often repeats the address. */
const different = (names: readonly string[]): readonly string[] =>
  names.filter(
    (name, at) =>
      name !== '' && names.findIndex((other) => other.toLowerCase() === name.toLowerCase()) === at,
  )
