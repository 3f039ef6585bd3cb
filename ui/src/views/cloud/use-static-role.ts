import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { dataOrNull } from '../../api/errors.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { readStaticRole, type StaticRoleFacts } from './calls.ts'

/** Null: there is no such role. Undefined also where the token may not read it. */
export function useStaticRole(mount: string, name: string): UseQueryResult<StaticRoleFacts | null> {
  // one question for all roles: policies that name single ones are for their passwords
  const path = `${mount}/static-roles/x`
  const { can } = useCapabilities([path])
  return useQuery({
    queryKey: ['static-role', mount, name],
    queryFn: ({ signal }) =>
      dataOrNull(readStaticRole({ params: { cloud_mount_path: mount, name } }, { signal })),
    enabled: can(path, 'read'),
    meta: { isDetail: true },
  })
}
