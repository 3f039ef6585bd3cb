import type { Resource } from '../../http/resource/resource.ts'
import { whatIfResource } from '../../jwt/history/what-if-resources.ts'
import { configFields } from './config/config.ts'
import { roleFields } from './config/role.ts'
import type { KubernetesMethod } from './method.ts'
import { configChange, roleChange } from './what-if/tried-changes.ts'

type Parts = {
  readonly method: KubernetesMethod
  policyExists(name: string, namespace: string): Promise<boolean>
}

/** Tries changes on recent logins. docs/contract/what-if.md#mounts-of-type-kubernetes */
export const whatIfResources = ({ method, policyExists }: Parts): Resource[] => [
  whatIfResource('/role/:name/what-if', {
    subject: 'role',
    summary: 'Try a write of a role on recent logins',
    input: roleFields,
    change: ({ mount, params, input }) =>
      roleChange({ method, mount }, params.name.toLowerCase(), {
        sent: input,
        exists: (policy) => policyExists(policy, mount.namespace),
      }),
  }),
  whatIfResource('/config/what-if', {
    subject: 'configuration',
    summary: 'Try a configuration on recent logins; asks nobody',
    input: configFields,
    change: ({ mount, input }) => configChange({ method, mount }, input),
  }),
]
