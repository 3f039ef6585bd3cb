import {
  checkMayReach,
  type Exchange,
  mayReach,
  type Resource,
  resource,
} from '../../../http/resource/resource.ts'
import { whatIfAnswer } from '../../../jwt/history/what-if-answers.ts'
import { configInput } from '../config/jwt-config.ts'
import { roleFields } from '../config/role.ts'
import type { JwtMethod } from '../method.ts'

type Parts = { readonly method: JwtMethod; policyExists(name: string, namespace: string): Promise<boolean> }

type Asking = Exchange<unknown, unknown>

const toLower = (below: string): string => below.toLowerCase()

/** Whether the caller may see what a role expects, and who uses it. `cel/<name>` is a CEL role. */
export const seesRole = (exchange: Asking) => (role: string) =>
  mayReach(exchange, { operation: 'read', path: role.replace(/^(cel\/)?/, '$1role/'), canonical: toLower }) &&
  mayReach(exchange, { operation: 'read', path: 'config' })

/** What a change would mean, before it is made. docs/contract/what-if.md */
export const whatIfResources = ({ method, policyExists }: Parts): Resource[] => [
  resource('/role/:name/what-if', {
    help: 'Who would lose or gain access by a write of the role, which is not made.',
    passesReadOnly: true,
    canonical: toLower,
    write: {
      summary: 'Try a write of a role on recent logins',
      ...whatIfAnswer,
      input: roleFields.meta({
        examples: [{ role_type: 'jwt', bound_audiences: ['https://vault.example.com'] }],
      }),
      handle: async (exchange) => {
        const { call, mount, params, input, sent } = exchange
        const name = params.name.toLowerCase()
        checkMayReach(exchange, {
          operation: 'update',
          path: `role/${name}`,
          fields: sent,
          canonical: toLower,
        })
        const write = {
          sent: input,
          unknown: call.converted?.unknown ?? [],
          policyExists: (policy: string) => policyExists(policy, mount.namespace),
        }
        return { data: await method.roleWhatIf(mount, name, write, seesRole(exchange)) }
      },
    },
  }),
  resource('/config/what-if', {
    help: 'Who would lose or gain access by a write of the configuration, which is not made.',
    passesReadOnly: true,
    write: {
      summary: 'Try a configuration on recent logins',
      ...whatIfAnswer,
      input: configInput,
      handle: async (exchange) => {
        const { mount, input, sent } = exchange
        checkMayReach(exchange, { operation: 'update', path: 'config', fields: sent })
        return { data: await method.configWhatIf(mount, input, seesRole(exchange)) }
      },
    },
  }),
]
