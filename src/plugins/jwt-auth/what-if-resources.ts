import type { Resource } from '../../http/resource/resource.ts'
import { whatIfResource } from '../../jwt/history/what-if-resources.ts'
import { celRoleFields } from './cel/cel-role.ts'
import { configInput } from './config/jwt-config.ts'
import { roleFields } from './config/role.ts'
import type { JwtMethod } from './method.ts'
import { celReplacement, configChange, roleChange } from './what-if/tried-changes.ts'

type Parts = { readonly method: JwtMethod; policyExists(name: string, namespace: string): Promise<boolean> }

/** Tries changes on recent logins. docs/contract/what-if.md */
export const whatIfResources = ({ method, policyExists }: Parts): Resource[] => [
  whatIfResource('/role/:name/what-if', {
    subject: 'role',
    summary: 'Try a write of a role on recent logins',
    input: roleFields.meta({
      examples: [{ role_type: 'jwt', bound_audiences: ['https://vault.example.com'] }],
    }),
    change: ({ call, mount, params, input }) =>
      roleChange(method, mount, params.name.toLowerCase(), {
        sent: input,
        unknown: call.converted?.unknown ?? [],
        policyExists: (policy) => policyExists(policy, mount.namespace),
      }),
  }),
  whatIfResource('/cel/role/:name/what-if', {
    subject: 'CEL role',
    summary: 'Try a write of a CEL role on recent logins',
    input: celRoleFields,
    change: ({ mount, params, input }) =>
      celReplacement(method, { mount, name: params.name.toLowerCase() }, input, (policy) =>
        policyExists(policy, mount.namespace),
      ),
  }),
  whatIfResource('/config/what-if', {
    subject: 'configuration',
    summary: 'Try a configuration on recent logins',
    input: configInput,
    change: ({ mount, input }) => configChange(method, mount, input),
  }),
]
