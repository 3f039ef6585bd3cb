import { useQuery } from '@tanstack/react-query'
import { shownNamespaces } from '../../api/server.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { authTable, secretsTable } from './calls.ts'

type Place = { readonly path: string; readonly isVersioned: boolean }

/** Mounts and namespaces, with a slash at their end; undefined if the token may not see all of them. */
export function usePlaces(): readonly Place[] | undefined {
  const { can } = useCapabilities(['sys/mounts', 'sys/auth'])
  const { data } = useQuery({
    queryKey: ['places'],
    queryFn: async ({ signal }): Promise<readonly Place[]> => {
      const [secrets, auth, namespaces] = await Promise.all([
        secretsTable({}, { signal }),
        authTable({}, { signal }),
        shownNamespaces({}, { signal }),
      ])
      return [
        ...Object.entries(secrets.data).map(([path, { options }]) => ({
          path,
          isVersioned: options?.['version'] === '2',
        })),
        ...[...Object.keys(auth.data).map((path) => `auth/${path}`), ...namespaces.data.keys].map((path) => ({
          path,
          isVersioned: false,
        })),
      ]
    },
    enabled: can('sys/mounts', 'read') && can('sys/auth', 'read'),
    staleTime: 60_000,
  })
  return data
}

/** Paths that rules often have there. */
export const pathsIn = (places: readonly Place[]): readonly string[] =>
  places.flatMap(({ path, isVersioned }) =>
    isVersioned ? [`${path}data/*`, `${path}metadata/*`] : [`${path}*`],
  )
