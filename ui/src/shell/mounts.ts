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
