import { z } from 'zod'
import type { HistoryStore } from '../../core/history/history-store.ts'
import { sanitize } from '../../core/tokens/store/policy-names.ts'
import { boundCidrs } from '../../core/tokens/store/token-fields.ts'
import { fail, refuse, ServiceError } from '../../errors.ts'
import { type KeptHistory, nameList, type Resource, resource, warned } from '../../http/resource/resource.ts'
import { answers } from './answers.ts'
import type { ApproleMethod } from './method.ts'
import {
  canonicalRolePath,
  checkRoleName,
  type RoleInput,
  type RoleRecord,
  roleFields,
  roleForm,
  roleName,
  shownRole,
} from './role.ts'

type FieldSpec = {
  readonly path: string
  readonly help: string
  /** The fields that a write takes. */
  readonly input: z.ZodObject
  /** The shape of what a read shows; by default that of `input`. */
  readonly output?: z.ZodType
  /** What a read shows. */
  shown(record: RoleRecord): object
  readonly warnings?: readonly string[]
  readonly example: object
  /** What a write changes; it may refuse. Undefined: nothing. */
  sent(input: RoleInput, before: RoleRecord): RoleInput | undefined
  /** What a deletion sets back. Undefined: nothing. Absent: the field cannot be deleted. */
  readonly cleared?: RoleInput | undefined
}

const { shape } = roleFields
const neverSet = z.array(z.string()).nullable()

const missing = (field: string) => refuse('invalid', `missing ${field}`)

/** A field that a write must name. */
const required =
  <Name extends keyof RoleInput>(name: Name) =>
  (input: RoleInput): RoleInput => {
    if (input[name] === undefined) throw missing(name)
    return { [name]: input[name] }
  }

/** A field whose path has its name, and which a deletion sets to what it is without a write. */
const plainField = <Name extends keyof RoleInput & keyof RoleRecord>(
  name: Name,
  help: string,
  { usual, example }: { usual: RoleInput[Name]; example: RoleInput[Name] },
): FieldSpec => ({
  path: name.replaceAll('_', '-'),
  help,
  input: z.object({ [name]: shape[name] }),
  shown: (record) => ({ [name]: record[name] ?? usual }),
  example: { [name]: example },
  sent: required(name),
  cleared: { [name]: usual },
})

/** Either path takes only the field of its own name. */
const blocks = (sent: readonly string[] | undefined): RoleInput | undefined => {
  if (sent?.length === 0) throw missing('bound_cidr_list')
  return sent && { secret_id_bound_cidrs: [...sent] }
}

/** The fields that have a path of their own. docs/contract/approle.md#one-field-at-a-time */
const fields: readonly FieldSpec[] = [
  {
    path: 'policies',
    help: 'The policies of its tokens.',
    input: z.object({ token_policies: shape.token_policies, policies: shape.policies }),
    shown: ({ token_policies = [], policies = [] }) => ({
      token_policies,
      ...(policies.length > 0 && { policies }),
    }),
    example: { token_policies: ['deploy'] },
    sent: ({ token_policies, policies }) => {
      if (token_policies === undefined && policies === undefined) throw missing('token_policies')
      return {
        ...(token_policies && { token_policies: sanitize(token_policies, false) }),
        ...(policies && { policies }),
      }
    },
    cleared: { token_policies: [] },
  },
  {
    path: 'bound-cidr-list',
    help: 'An older name of `secret-id-bound-cidrs`.',
    input: z.object({ bound_cidr_list: shape.bound_cidr_list }),
    output: z.object({ bound_cidr_list: neverSet }),
    shown: () => ({ bound_cidr_list: null }),
    warnings: [
      'The "bound_cidr_list" field is deprecated and will be removed. Please use "secret_id_bound_cidrs" instead.',
    ],
    example: { bound_cidr_list: null },
    sent: ({ bound_cidr_list }) => blocks(bound_cidr_list),
    cleared: undefined,
  },
  {
    path: 'secret-id-bound-cidrs',
    help: 'The networks that may log in.',
    input: z.object({ secret_id_bound_cidrs: shape.secret_id_bound_cidrs }),
    output: z.object({ secret_id_bound_cidrs: neverSet }),
    shown: ({ secret_id_bound_cidrs = null }) => ({ secret_id_bound_cidrs }),
    example: { secret_id_bound_cidrs: ['10.0.0.0/8'] },
    sent: ({ secret_id_bound_cidrs }) => blocks(secret_id_bound_cidrs),
    cleared: { secret_id_bound_cidrs: undefined },
  },
  {
    path: 'token-bound-cidrs',
    help: 'The addresses that may use its tokens.',
    input: z.object({ token_bound_cidrs: shape.token_bound_cidrs }),
    output: z.object({ token_bound_cidrs: neverSet }),
    shown: ({ token_bound_cidrs = null }) => ({ token_bound_cidrs }),
    example: { token_bound_cidrs: ['10.0.0.0/8'] },
    sent: ({ token_bound_cidrs }) => token_bound_cidrs && { token_bound_cidrs: parsed(token_bound_cidrs) },
    cleared: { token_bound_cidrs: undefined },
  },
  plainField('bind_secret_id', 'Whether a login needs a secret id.', { usual: true, example: true }),
  plainField('secret_id_num_uses', 'The number of logins of its new secret ids.', { usual: 0, example: 1 }),
  plainField('secret_id_ttl', 'The lifetime of its new secret ids.', { usual: 0, example: 3600 }),
  {
    path: 'period',
    help: 'The renewal period of its tokens.',
    input: z.object({ token_period: shape.token_period, period: shape.period }),
    shown: ({ token_period = 0, period = 0 }) => ({ token_period, ...(period > 0 && { period }) }),
    example: { token_period: 86_400 },
    sent: ({ token_period, period }) => {
      if (token_period === undefined && period === undefined) throw missing('period')
      return { ...(token_period !== undefined && { token_period }), ...(period !== undefined && { period }) }
    },
    cleared: { token_period: 0 },
  },
  plainField('token_num_uses', 'The number of uses of its tokens.', { usual: 0, example: 0 }),
  {
    ...plainField('token_ttl', 'The lifetime of its tokens.', { usual: 0, example: 3600 }),
    sent: (input, { token_max_ttl = 0 }) => {
      const sent = required('token_ttl')(input)
      if (token_max_ttl > 0 && (sent.token_ttl ?? 0) > token_max_ttl)
        throw refuse('invalid', 'token_ttl should not be greater than token_max_ttl')
      return sent
    },
  },
  {
    ...plainField('token_max_ttl', 'The longest lifetime of its tokens.', { usual: 0, example: 86_400 }),
    sent: (input, { token_ttl = 0 }) => {
      const sent = required('token_max_ttl')(input)
      const max = sent.token_max_ttl ?? 0
      if (max > 0 && max < token_ttl)
        throw refuse('invalid', 'token_max_ttl should be greater than or equal to token_ttl')
      return sent
    },
  },
  {
    path: 'role-id',
    help: 'The id that names the role in a login.',
    input: z.object({ role_id: shape.role_id }),
    shown: ({ role_id }) => ({ role_id }),
    example: { role_id: '6b8f1a52-0c1e-4f0e-9a1b-3d1f9f0c7b60' },
    sent: ({ role_id = '' }) => {
      if (role_id === '') throw missing('role_id')
      return { role_id }
    },
  },
]

/** Each kind of refusal says which field it is about. */
function parsed(texts: readonly string[]): string[] {
  try {
    return boundCidrs(texts)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    throw refuse('invalid', `failed to parse token_bound_cidrs: ${error.message}`)
  }
}

/** `role`, `role/<name>`, and the paths below that read and change one field. docs/contract/approle.md#roles */
export const roleResources = (method: ApproleMethod, store: HistoryStore): Resource[] => [
  nameList('/role', {
    help: 'The roles of this mount.',
    summary: 'List the roles',
    example: ['ci', 'deploy'],
    names: (mount) => method.rolesOf(mount).names(),
  }),
  resource('/role/:role_name', {
    help: 'A role: what a login with it needs, and what its token may do.',
    canonical: canonicalRolePath,
    history: roleHistory(method, store),
    exists: async ({ mount, params }) => (await method.rolesOf(mount).find(roleName(params))) !== undefined,
    read: {
      summary: 'Read a role',
      ...answers.role,
      handle: async ({ mount, params }) => {
        const role = await method.rolesOf(mount).find(roleName(params))
        return role && { data: shownRole(role) }
      },
    },
    write: {
      summary: 'Create or update a role',
      statuses: [204, 200],
      input: roleFields,
      handle: async ({ mount, params, input }) => {
        const name = roleName(params)
        checkRoleName(name)
        return warned(await method.putRole(mount, name, input))
      },
    },
    delete: {
      summary: 'Delete a role; its secret ids end at once',
      input: z.object({}),
      handle: ({ mount, params }) => method.rolesOf(mount).delete(roleName(params)),
    },
  }),
  ...fields.map((field) => fieldResource(method, store, field)),
  resource('/role/:role_name/local-secret-ids', {
    help: 'Whether the role was created with `local_secret_ids`.',
    canonical: canonicalRolePath,
    read: {
      summary: 'Read local_secret_ids of a role',
      output: z.object({ local_secret_ids: z.boolean() }),
      example: { local_secret_ids: false },
      handle: async ({ mount, params }) => {
        const role = await method.rolesOf(mount).find(roleName(params))
        return role && { data: { local_secret_ids: role.record.local_secret_ids ?? false } }
      },
    },
  }),
]

const roleHistory = (method: ApproleMethod, store: HistoryStore): KeptHistory<{ role_name: string }> => ({
  store,
  record: ({ mount, params }) => method.rolesOf(mount).recordKey(roleName(params)),
  path: ({ params }) => `role/${roleName(params)}`,
  form: async ({ mount, params }) => {
    const role = await method.rolesOf(mount).find(roleName(params))
    return role && roleForm(role)
  },
  // another path shows it
  secrets: ['role_id'],
})

function fieldResource(method: ApproleMethod, store: HistoryStore, field: FieldSpec): Resource {
  const { path, help, input, example, warnings } = field
  const shown = path.replaceAll('-', ' ')
  const template = `/role/:role_name/${path}` as const
  return resource(template, {
    help,
    canonical: canonicalRolePath,
    history: { ...roleHistory(method, store), elsewhere: 'part' },
    read: {
      summary: `Read ${shown} of a role`,
      output: field.output ?? input,
      example,
      handle: async ({ mount, params }) => {
        const role = await method.rolesOf(mount).find(roleName(params))
        return role && { data: field.shown(role.record), ...(warnings && { warnings }) }
      },
    },
    write: {
      summary: `Change ${shown} of a role`,
      input,
      handle: async ({ mount, params, input: sent }) => {
        // the schema has only fields of a role
        const changeOf = (before: RoleRecord) => field.sent(sent as RoleInput, before) ?? {}
        if (!(await method.changeRole(mount, roleName(params), changeOf)))
          throw fail('missing', 'unsupported path')
      },
    },
    ...('cleared' in field && {
      delete: {
        summary: `Set ${shown} of a role back`,
        handle: async ({ mount, params }) => {
          if (field.cleared !== undefined)
            await method.changeRole(mount, roleName(params), () => field.cleared ?? {})
        },
      },
    }),
  })
}
