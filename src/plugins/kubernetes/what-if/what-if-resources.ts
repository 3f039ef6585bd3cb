import {
  checkMayReach,
  type Exchange,
  mayReach,
  type Resource,
  resource,
} from '../../../http/resource/resource.ts'
import { whatIfAnswer } from '../../../jwt/history/what-if-answers.ts'
import { configFields } from '../config/config.ts'
import { roleFields } from '../config/role.ts'
import type { KubernetesMethod } from '../method.ts'

type Parts = {
  readonly method: KubernetesMethod
  policyExists(name: string, namespace: string): Promise<boolean>
}

const toLower = (below: string): string => below.toLowerCase()

/** Whether the caller may see what a role expects, and who uses it. */
export const seesRole = (exchange: Exchange<unknown, unknown>) => (role: string) =>
  mayReach(exchange, { operation: 'read', path: `role/${role}`, canonical: toLower }) &&
  mayReach(exchange, { operation: 'read', path: 'config' })

/** What a change would mean, before it is made. docs/contract/what-if.md#mounts-of-type-kubernetes */
export const whatIfResources = ({ method, policyExists }: Parts): Resource[] => [
  resource('/role/:name/what-if', {
    help: 'Who would lose or gain access by a write of the role, which is not made.',
    passesReadOnly: true,
    canonical: toLower,
    write: {
      summary: 'Try a write of a role on recent logins',
      ...whatIfAnswer,
      input: roleFields,
      handle: async (exchange) => {
        const { mount, params, input, sent } = exchange
        const name = params.name.toLowerCase()
        checkMayReach(exchange, {
          operation: 'update',
          path: `role/${name}`,
          fields: sent,
          canonical: toLower,
        })
        const exists = (policy: string) => policyExists(policy, mount.namespace)
        return { data: await method.roleWhatIf(mount, name, { sent: input, exists }, seesRole(exchange)) }
      },
    },
  }),
  resource('/config/what-if', {
    help: 'Who would lose or gain access by a write of the configuration, which is not made.',
    passesReadOnly: true,
    write: {
      summary: 'Try a configuration on recent logins; asks nobody',
      ...whatIfAnswer,
      input: configFields,
      handle: async (exchange) => {
        const { mount, input, sent } = exchange
        checkMayReach(exchange, { operation: 'update', path: 'config', fields: sent })
        return { data: await method.configWhatIf(mount, input, seesRole(exchange)) }
      },
    },
  }),
]
