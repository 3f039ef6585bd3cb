import { useQuery } from '@tanstack/react-query'
import { dataOrNull } from '../../api/errors.ts'
import type { Can } from '../../shell/capabilities.ts'
import { readSecret } from './calls.ts'

/** What the parts of a secret's page need. */
export type SecretPlace = {
  readonly mount: string
  readonly path: string
  /** As calls name the place. */
  readonly params: { readonly 'kv-v2_mount_path': string; readonly path: string }
  readonly can: Can
  /** Reads everything again. */
  changed(): Promise<unknown>
}

export const endpoints = ['data', 'metadata', 'delete', 'undelete', 'destroy', 'restore'] as const

/** The path of a call for this secret, as policies name it. */
export const endpointPath = (
  place: Pick<SecretPlace, 'mount' | 'path'>,
  endpoint: (typeof endpoints)[number],
) => `${place.mount}${endpoint}/${place.path}`

type ReadVersion = Awaited<ReturnType<typeof readSecret>>['data']

/** Null: there is no such version, it is deleted, or it must not be read. Nothing is kept once nobody looks at it. */
export function useSecret(place: SecretPlace, version: number | undefined) {
  const mayRead = place.can(endpointPath(place, 'data'), 'read')
  return useQuery({
    queryKey: ['secret', place.mount, place.path, 'data', version ?? 'current', mayRead],
    gcTime: 0,
    queryFn: async ({ signal }): Promise<ReadVersion | null> => {
      if (!mayRead) return null
      const query = version === undefined ? undefined : { version: String(version) }
      return dataOrNull(readSecret({ params: place.params, query }, { signal }))
    },
  })
}
