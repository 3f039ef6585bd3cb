import { useQuery } from '@tanstack/react-query'
import { resultantAcl } from '../api/server.ts'
import { grantsOf, reachesBelow } from './grants.ts'

/** The rules of the token's policies. */
export const useAcl = () =>
  useQuery({
    queryKey: ['resultant-acl'],
    queryFn: async ({ signal }) => (await resultantAcl({}, { signal })).data,
    staleTime: 60_000,
  })

/** Says whether some rule allows something below a path, which ends in a slash. */
export type Reaches = (path: string, allows?: (capabilities: readonly string[]) => boolean) => boolean

/** What the token may do below paths that nobody has named yet. */
export function useReach(): { readonly reaches: Reaches; readonly isKnown: boolean } {
  const { data, isPending } = useAcl()
  const grants = data === undefined ? [] : grantsOf(data)
  const reaches: Reaches = (path, allows) => data?.root === true || reachesBelow(grants, path, allows)
  return { reaches, isKnown: !isPending }
}
