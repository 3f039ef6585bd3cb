import { useQuery } from '@tanstack/react-query'
import { capabilitiesSelf } from '../api/server.ts'

/** Says whether the token may do something at a path. */
export type Can = (path: string, capability: string) => boolean

const nothing: Can = () => false

/**
 * What the token may do at these paths, asked in one call. A button whose call would be refused must be absent.
 * While the answer is under way, nothing is allowed.
 */
export function useCapabilities(paths: readonly string[]): { readonly can: Can; readonly isKnown: boolean } {
  const asked = [...new Set(paths)].toSorted()
  const { data } = useQuery({
    queryKey: ['capabilities', asked],
    queryFn: ({ signal }) =>
      asked.length === 0 ? { data: {} } : capabilitiesSelf({ body: { paths: asked } }, { signal }),
    staleTime: 60_000,
  })
  if (data === undefined) return { can: nothing, isKnown: false }
  const capabilities: Readonly<Record<string, readonly string[]>> = data.data
  const can: Can = (path, capability) => {
    const granted = capabilities[path] ?? []
    return granted.includes('root') || granted.includes(capability)
  }
  return { can, isKnown: true }
}
