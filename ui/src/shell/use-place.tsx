import {
  Link,
  type ParsedLocation,
  useLocation,
  useMatch,
  useParams,
  useRouter,
  useSearch,
} from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { visible } from '../components/visible.ts'

/** Where the person is inside a view: `#/logins/oidc/failures?reason=expired`. */
export type Place = {
  /** The view's name. */
  readonly view: string
  /** The decoded parts of the path after it; a mount path is one part. */
  readonly parts: readonly string[]
  readonly search: Readonly<Record<string, string | undefined>>
}

export const usePlace = (): Place => {
  const { view = '', _splat = '' } = useParams({ strict: false })
  const search = useSearch({ strict: false })
  return { view, parts: partsOf(_splat), search }
}

const separator = '~'

/** A part may contain slashes: they are written as `~` in the address, and `~` as `~~`. */
const encodedPart = (part: string): string => part.replaceAll(separator, '~~').replaceAll('/', separator)
const decodedPart = (text: string): string =>
  text.replaceAll(/~~|~/g, (found) => (found === '~' ? '/' : separator))

const partsOf = (splat: string): string[] =>
  splat
    .split('/')
    .filter((part) => part !== '')
    .map(decodedPart)

/**
 * Whether the address names a `.` or a `..` as a part of a path. Nothing has such a name: browsers take them for steps
 * to another path.
 */
export const isWayward = ({ parts }: Pick<Place, 'parts'>): boolean =>
  parts.some((part) => part.split('/').some((segment) => segment === '.' || segment === '..'))

type Target = {
  readonly view: string
  readonly parts?: readonly string[]
  readonly search?: Readonly<Record<string, string | undefined>>
}

const paramsOf = ({ view, parts = [] }: Target) => ({ view, _splat: parts.map(encodedPart).join('/') })

/** A place as it stands behind the `#`, for another document. */
export const hashOf = ({ view, parts = [] }: Target): string =>
  [view, ...parts.map((part) => encodeURIComponent(encodedPart(part)))].join('/')

const searchOf = ({ search = {} }: Target): Record<string, string> =>
  Object.fromEntries(Object.entries(search).flatMap(([name, value]) => (value ? [[name, value]] : [])))

/** A step of the person through the UI. Parameters may change in it. */
const stepOf = ({ pathname, state }: ParsedLocation): string => `${state.__TSR_index} ${pathname}`

/**
 * Goes to a place, after something is saved or chosen, unless the person has gone elsewhere since then; `replace`
 * leaves no entry for the back button.
 */
export function useGo(): (target: Target, options?: { readonly replace?: boolean }) => void {
  const router = useRouter()
  const step = useLocation({ select: stepOf })
  return (target, { replace = false } = {}) => {
    // this call may come from a save that began long ago, in an earlier rendering
    if (stepOf(router.latestLocation) !== step) return
    void router.navigate({
      to: '/$view/$',
      params: paramsOf(target),
      search: searchOf(target),
      replace,
      ignoreBlocker: true,
    })
  }
}

/** A link to a folder is not the current place while something in it is. */
const exactly = { exact: true, includeSearch: false }

/** A parameter of the present address, such as a filter, and how it is changed: the back button leads to it again. */
export function useParameter(name: string): readonly [string, (value: string) => void] {
  const place = usePlace()
  const go = useGo()
  const router = useRouter()
  const own = useMatch({ strict: false, select: ({ pathname }) => pathname })
  // the place follows a moment later: a field whose value does not change at once loses its cursor
  const latest = useLocation({
    select: ({ pathname, search }) => (pathname === own ? (search[name] ?? '') : undefined),
  })
  return [
    latest ?? place.search[name] ?? '',
    (value) =>
      go({ ...place, search: { ...router.latestLocation.search, [name]: value } }, { replace: true }),
  ]
}

type LinkProps = Target & {
  readonly children: ReactNode
  readonly className?: string
  /** Whether what is shown is in this place. */
  readonly isOpen?: boolean
}

/** A link to a place of the UI. */
export const PlaceLink = ({ children, className, isOpen = false, ...target }: LinkProps) => (
  <Link
    to="/$view/$"
    params={paramsOf(target)}
    search={searchOf(target)}
    className={className ?? ''}
    activeOptions={exactly}
    {...(isOpen && { 'aria-current': 'page' })}
  >
    {typeof children === 'string' ? visible(children) : children}
  </Link>
)
