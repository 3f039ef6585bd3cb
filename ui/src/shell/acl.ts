import { useQuery } from '@tanstack/react-query'
import { resultantAcl } from '../api/server.ts'

/** The rules of the token's policies. */
export const useAcl = () =>
  useQuery({
    queryKey: ['resultant-acl'],
    queryFn: async ({ signal }) => (await resultantAcl({}, { signal })).data,
    staleTime: 60_000,
  })
