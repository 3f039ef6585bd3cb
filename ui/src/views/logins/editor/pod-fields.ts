import { tokenFields } from './role-fields.ts'
import type { FieldSpec, Values } from './spec.ts'

const byKeys = ({ verification }: Values): boolean => verification === 'keys'

/** A write of a role without it empties it. */
export const alwaysSentOfPods = ['bound_service_account_namespace_selector'] as const

/** The fields of a role of the type `kubernetes`. */
export const podRoleFields: readonly FieldSpec[] = [
  { name: 'bound_service_account_names', kind: 'list' },
  { name: 'bound_service_account_namespaces', kind: 'list' },
  { name: 'bound_service_account_namespace_selector', kind: 'text' },
  { name: 'audience', kind: 'text' },
  ...tokenFields,
  {
    name: 'alias_name_source',
    kind: 'text',
    options: ['serviceaccount_uid', 'serviceaccount_name'],
    isMore: true,
  },
  { name: 'renewal_review', kind: 'switch', isMore: true },
]

/** The fields of a configuration of the type `kubernetes`. */
export const podConfigFields: readonly FieldSpec[] = [
  { name: 'kubernetes_host', kind: 'text', isRequired: true },
  { name: 'kubernetes_ca_cert', kind: 'long' },
  { name: 'token_reviewer_jwt', kind: 'secret' },
  { name: 'disable_local_ca_jwt', kind: 'switch' },
  { name: 'verification', kind: 'text', options: ['review', 'keys'] },
  { name: 'issuer', kind: 'text' },
  { name: 'token_max_lifetime', kind: 'duration', when: byKeys },
  { name: 'disable_iss_validation', kind: 'switch', isMore: true },
  { name: 'pem_keys', kind: 'pems', isMore: true },
  { name: 'use_annotations_as_alias_metadata', kind: 'switch', isMore: true },
]
