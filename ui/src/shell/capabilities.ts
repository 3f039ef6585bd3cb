import { keepPreviousData, type QueryClient, useQuery } from '@tanstack/react-query'
import { capabilitiesSelf } from '../api/server.ts'
import { homeOf } from '../session/use-self.ts'

/** Says whether the token may do something at a path. */
export type Can = (path: string, capability: string) => boolean

const nothing: Can = () => false

/** The token's capabilities at these paths of the present namespace, or of one below it. */
export async function grantedAt(
  paths: readonly string[],
  { client, signal, below = '' }: { client: QueryClient; signal: AbortSignal; below?: string },
): Promise<Readonly<Record<string, readonly string[]>>> {
  if (paths.length === 0) return {}
  const { namespace, prefix } = await homeOf(client)
  const start = below === '' ? prefix : `${prefix}${below}/`
  const body = { paths: paths.map((path) => start + path) }
  const found = await capabilitiesSelf({ body }, { signal, namespace })
  const granted: Readonly<Record<string, readonly string[]>> = found.data
  return Object.fromEntries(paths.map((path) => [path, granted[start + path] ?? []]))
}

/**
 * What the token may do at these paths, asked in one call. A button whose call would be refused must be absent.
 * Until the response arrives, only what is known of the paths asked for before is allowed.
 */
export function useCapabilities(paths: readonly string[]): { readonly can: Can; readonly isKnown: boolean } {
  const asked = [...new Set(paths)].toSorted()
  const { data, isPlaceholderData } = useQuery({
    queryKey: ['capabilities', asked],
    queryFn: ({ client, signal }) => grantedAt(asked, { client, signal }),
    staleTime: 60_000,
    // a form that is being edited stays on the page while more is asked
    placeholderData: keepPreviousData,
  })
  if (data === undefined) return { can: nothing, isKnown: false }
  const can: Can = (path, capability) => {
    const granted = data[path] ?? []
    return granted.includes('root') || granted.includes(capability)
  }
  return { can, isKnown: !isPlaceholderData }
}
