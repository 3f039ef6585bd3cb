import { useQuery } from '@tanstack/react-query'
import { type Mounts, visibleMounts } from '../api/server.ts'

const none: Mounts = { auth: {}, secret: {} }

/** The mounts that the token may see. */
export function useMounts(): { readonly mounts: Mounts; readonly isKnown: boolean } {
  const { data } = useQuery({
    queryKey: ['mounts'],
    queryFn: ({ signal }) => visibleMounts({}, { signal }),
    staleTime: 60_000,
  })
  return { mounts: data?.data ?? none, isKnown: data !== undefined }
}

/** The paths of mounts of these types, without the slash at their end. */
export const pathsOfTypes = (table: Mounts['auth'], types: readonly string[]): string[] =>
  Object.entries(table)
    .filter(([, { type }]) => types.includes(type))
    .map(([path]) => path.replace(/\/$/, ''))
