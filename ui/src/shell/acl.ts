import { useQuery } from '@tanstack/react-query'
import { resultantAcl } from '../api/server.ts'
import { homeOf } from '../session/use-self.ts'
import { grantsOf, reachesBelow, rulesBelow } from './grants.ts'

/** The rules of the token's policies, as seen from the present namespace. */
export const useAcl = () =>
  useQuery({
    queryKey: ['resultant-acl'],
    queryFn: async ({ client, signal }) => {
      const { namespace, prefix } = await homeOf(client)
      const { root, exact_paths, glob_paths } = (await resultantAcl({}, { signal, namespace })).data
      return {
        root,
        exact_paths: rulesBelow(exact_paths, prefix, false),
        glob_paths: rulesBelow(glob_paths, prefix, true),
      }
    },
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
