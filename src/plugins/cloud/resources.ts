import type { Resource } from '../../http/resource/resource.ts'
import { configResources } from './config/config-resources.ts'
import { credentialResources } from './credentials/credential-resources.ts'
import type { CloudEngine } from './engine.ts'
import { tokenResource } from './federation/token-resource.ts'
import { type FieldNames, fieldNames } from './field-names.ts'
import { roleResources } from './roles/role-resources.ts'
import { staticRoleResources } from './static-roles/static-role-resources.ts'

export type CloudParts = { readonly engine: CloudEngine; readonly type: FieldNames['type'] }

/** The resources of mounts of one type. docs/contract/cloud.md#paths */
export const cloudResources = ({ engine, type }: CloudParts): Resource[] => [
  ...configResources(engine, fieldNames[type]),
  ...roleResources(engine, fieldNames[type]),
  ...credentialResources(engine),
  tokenResource(engine.federated),
  ...staticRoleResources(engine),
]
