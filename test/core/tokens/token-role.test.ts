import { expect, test } from 'vitest'
import { entityAliasOf } from '../../../src/core/tokens/acts/create-token.ts'
import { listsPolicies, rolePolicies } from '../../../src/core/tokens/acts/role-policies.ts'
import type { TokenType } from '../../../src/core/tokens/store/token.ts'
import {
  changedTokenRole,
  createdTokenType,
  shownTokenRole,
  type TokenRoleRecord,
  tokenRoleWarnings,
} from '../../../src/core/tokens/store/token-role.ts'

const batchRole: TokenRoleRecord = { token_type: 'batch', orphan: true, renewable: false }
const cannotBeBatch = "'token_type' cannot be 'batch' when role is set to generate"

test.each<{ row: string; sent: TokenRoleRecord; text: string }>([
  {
    row: 'suffix of one character',
    sent: { path_suffix: 'a' },
    text: 'given role path suffix contains invalid characters; must match \\w[\\w-.]+\\w',
  },
  {
    row: 'suffix of slashes',
    sent: { path_suffix: '//' },
    text: 'given role path suffix contains invalid characters; must match \\w[\\w-.]+\\w',
  },
  {
    row: 'suffix with parent references',
    sent: { path_suffix: 'a..b' },
    text: 'error registering path suffix: path cannot contain parent references',
  },
  {
    row: 'long suffix',
    sent: { path_suffix: 'x'.repeat(513) },
    text: 'given role path suffix is longer than 512 characters',
  },
  { row: 'unknown type', sent: { token_type: 'default' }, text: `invalid 'token_type' value "default"` },
  { row: 'empty type', sent: { token_type: '' }, text: `invalid 'token_type' value ""` },
  {
    row: 'limited uses',
    sent: { token_num_uses: -1 },
    text: "error parsing role fields: 'token_num_uses' cannot be negative",
  },
  {
    row: 'addresses',
    sent: { token_bound_cidrs: ['x'] },
    text: 'error parsing role fields: error parsing address "x": Unable to convert "x" to an IPv4 or IPv6 address, or a UNIX Socket',
  },
  {
    row: 'old addresses',
    sent: { bound_cidrs: ['x'] },
    text: 'error parsing bound_cidrs: error parsing address "x": Unable to convert "x" to an IPv4 or IPv6 address, or a UNIX Socket',
  },
  {
    row: 'too many',
    sent: { token_bound_cidrs: Array(1001).fill('10.0.0.1') },
    text: 'error parsing role fields: more than 1000 addresses',
  },
  {
    row: 'too many',
    sent: { bound_cidrs: Array(1001).fill('10.0.0.1') },
    text: 'error parsing bound_cidrs: more than 1000 addresses',
  },
  { row: 'batch, not orphan', sent: { token_type: 'batch' }, text: `${cannotBeBatch} non-orphan tokens` },
  {
    row: 'batch, renewable',
    sent: { token_type: 'batch', orphan: true },
    text: `${cannotBeBatch} renewable tokens`,
  },
  {
    row: 'batch with a period',
    sent: { ...batchRole, token_period: 1 },
    text: `${cannotBeBatch} periodic tokens`,
  },
  {
    row: 'batch, period before renewable',
    sent: { token_type: 'batch', orphan: true, token_period: 1 },
    text: `${cannotBeBatch} periodic tokens`,
  },
  {
    row: 'batch with a period by its old name',
    sent: { ...batchRole, period: 1 },
    text: `${cannotBeBatch} periodic tokens`,
  },
  {
    row: 'batch with an explicit maximum',
    sent: { ...batchRole, token_explicit_max_ttl: 1 },
    text: `${cannotBeBatch} tokens with an explicit max TTL`,
  },
  {
    row: 'batch with limited uses',
    sent: { ...batchRole, token_num_uses: 3 },
    text: `${cannotBeBatch} tokens with limited use count`,
  },
  {
    row: 'the suffix is checked first',
    sent: { path_suffix: 'a', token_type: 'x', token_num_uses: -1 },
    text: 'given role path suffix contains',
  },
  { row: 'the type before the uses', sent: { token_type: 'x', token_num_uses: -1 }, text: 'invalid' },
  {
    row: 'the addresses before the uses',
    sent: { token_bound_cidrs: ['x'], token_num_uses: -1 },
    text: 'error parsing role fields: error parsing address',
  },
])('a role is refused, $row: $text', ({ sent, text }) => {
  expect(() => changedTokenRole(undefined, sent)).toThrow(text)
})

test.each<{ row: string; before?: TokenRoleRecord; sent: TokenRoleRecord; shown: object; absent?: string[] }>(
  [
    {
      row: 'defaults',
      sent: {},
      shown: {
        allowed_policies: [],
        disallowed_policies: [],
        allowed_policies_glob: [],
        disallowed_policies_glob: [],
        orphan: false,
        renewable: true,
        path_suffix: '',
        token_type: 'default-service',
        allowed_entity_aliases: null,
        period: 0,
        token_period: 0,
        explicit_max_ttl: 0,
        token_explicit_max_ttl: 0,
        token_no_default_policy: false,
      },
      absent: ['token_bound_cidrs', 'bound_cidrs', 'token_num_uses'],
    },
    {
      row: 'lists are lower-case, sorted, unique',
      sent: { allowed_policies: ['b', 'A ', 'a', ''] },
      shown: { allowed_policies: ['a', 'b'] },
    },
    {
      row: 'as are all other lists',
      sent: {
        disallowed_policies: ['Y', 'x', 'y'],
        allowed_policies_glob: ['G*'],
        disallowed_policies_glob: ['H*'],
        allowed_entity_aliases: ['Bob', 'al*', 'bob'],
      },
      shown: {
        disallowed_policies: ['x', 'y'],
        allowed_policies_glob: ['g*'],
        disallowed_policies_glob: ['h*'],
        allowed_entity_aliases: ['al*', 'bob'],
      },
    },
    {
      row: 'addresses',
      sent: { token_bound_cidrs: ['127.0.0.1/32', '1.2.3.4/8'] },
      shown: { token_bound_cidrs: ['127.0.0.1', '1.2.3.4/8'] },
    },
    {
      row: 'absent fields keep their value',
      before: { orphan: true, token_num_uses: 3 },
      sent: { renewable: false },
      shown: { orphan: true, renewable: false, token_num_uses: 3 },
    },
    {
      row: 'zero is a value',
      before: { token_period: 60, token_num_uses: 4 },
      sent: { token_period: 0, token_num_uses: 0 },
      shown: { token_period: 0 },
      absent: ['token_num_uses'],
    },
    {
      row: 'default-batch takes all',
      sent: { token_type: 'default-batch', token_period: 60, token_explicit_max_ttl: 90 },
      shown: { token_period: 60 },
    },
    {
      row: 'an old name sets both',
      sent: { period: 60, explicit_max_ttl: 90, bound_cidrs: ['10.0.0.1/32'] },
      shown: {
        period: 60,
        token_period: 60,
        explicit_max_ttl: 90,
        token_explicit_max_ttl: 90,
        bound_cidrs: ['10.0.0.1'],
        token_bound_cidrs: ['10.0.0.1'],
      },
    },
    {
      row: 'a new name clears the old one',
      before: {
        period: 60,
        token_period: 60,
        explicit_max_ttl: 90,
        token_explicit_max_ttl: 90,
        bound_cidrs: ['10.0.0.1'],
        token_bound_cidrs: ['10.0.0.1'],
      },
      sent: { token_period: 30, token_bound_cidrs: ['10.0.0.2'] },
      shown: {
        period: 0,
        token_period: 30,
        explicit_max_ttl: 90,
        token_explicit_max_ttl: 90,
        token_bound_cidrs: ['10.0.0.2'],
      },
      absent: ['bound_cidrs'],
    },
    {
      row: 'of both the new name counts',
      sent: { token_period: 30, period: 60 },
      shown: { period: 0, token_period: 30 },
    },
  ],
)('a written role: $row', ({ before, sent, shown, absent = [] }) => {
  const data = shownTokenRole({ name: 'r', record: changedTokenRole(before, sent) })

  expect(data).toMatchObject({ name: 'r', ...shown })
  for (const key of absent) expect(data).not.toHaveProperty(key)
})

test('a write warns of fields it ignores and of a maximum above the mount’s', () => {
  const both = {
    token_period: 1,
    period: 2,
    token_bound_cidrs: ['10.0.0.1'],
    bound_cidrs: ['10.0.0.2'],
    token_explicit_max_ttl: 360_000,
    explicit_max_ttl: 1,
  }

  expect(tokenRoleWarnings(changedTokenRole(undefined, both), both, 18_000)).toEqual([
    "Both 'token_period' and deprecated 'period' value supplied, ignoring the deprecated value",
    "Both 'token_bound_cidrs' and deprecated 'bound_cidrs' value supplied, ignoring the deprecated value",
    "Both 'token_explicit_max_ttl' and deprecated 'explicit_max_ttl' value supplied, ignoring the deprecated value",
    'Given explicit max TTL of 360000 is greater than system/mount allowed value of 18000 seconds; until this is fixed attempting to create tokens against this role will result in an error',
  ])
  expect(tokenRoleWarnings({ token_explicit_max_ttl: 18_000 }, {}, 18_000)).toEqual([])
})

test.each<{ role: string | undefined; asked: string; type: TokenType | undefined }>([
  { role: undefined, asked: '', type: 'service' },
  { role: undefined, asked: 'batch', type: 'batch' },
  { role: undefined, asked: 'x', type: undefined },
  { role: 'service', asked: 'batch', type: 'service' },
  { role: 'service', asked: 'x', type: 'service' },
  { role: 'batch', asked: 'service', type: 'batch' },
  { role: 'default-service', asked: '', type: 'service' },
  { role: 'default-service', asked: 'batch', type: 'batch' },
  { role: 'default-batch', asked: '', type: 'batch' },
  { role: 'default-batch', asked: 'service', type: 'service' },
  { role: 'default-batch', asked: 'default-batch', type: undefined },
])('the token type of a role of type $role, asked for "$asked": $type', ({ role, asked, type }) => {
  expect(createdTokenType(role === undefined ? {} : { token_type: role }, asked)).toBe(type)
})

const ab: TokenRoleRecord = { allowed_policies: ['a', 'b'] }

test.each<{
  row: string
  role: TokenRoleRecord
  asked?: string[]
  without?: boolean
  caller?: string[]
  is: string[]
}>([
  { row: 'one of the listed names', role: ab, asked: ['a'], is: ['a', 'default'] },
  { row: 'nothing asked for', role: ab, is: ['a', 'b', 'default'] },
  { row: 'nothing asked for, without default', role: ab, without: true, is: ['a', 'b'] },
  { row: 'names are sanitised first', role: ab, asked: ['A '], is: ['a', 'default'] },
  {
    row: 'default is forbidden',
    role: { allowed_policies: ['a'], disallowed_policies: ['default'] },
    asked: ['a'],
    is: ['a'],
  },
  {
    row: 'a glob that forbids default',
    role: { allowed_policies: ['a'], disallowed_policies_glob: ['def*'] },
    asked: ['a'],
    is: ['a'],
  },
  {
    row: 'the role leaves default out',
    role: { ...ab, token_no_default_policy: true },
    asked: ['a'],
    is: ['a'],
  },
  {
    row: 'a glob allows',
    role: { allowed_policies_glob: ['team-*-ro'] },
    asked: ['team-x-ro', 'default'],
    is: ['default', 'team-x-ro'],
  },
  {
    row: 'default beside a glob',
    role: { allowed_policies_glob: ['x*'] },
    asked: ['x1'],
    is: ['default', 'x1'],
  },
  { row: 'globs contribute no names', role: { allowed_policies_glob: ['x*'] }, is: ['default'] },
  {
    row: 'globs and names',
    role: { allowed_policies: ['a'], allowed_policies_glob: ['x*'] },
    asked: ['a', 'x1'],
    is: ['a', 'default', 'x1'],
  },
  {
    row: 'only what is forbidden is said',
    role: { disallowed_policies: ['x'] },
    asked: ['y'],
    is: ['default', 'y'],
  },
  {
    row: 'then nothing asked is the caller',
    role: { disallowed_policies: ['x'] },
    caller: ['root'],
    is: ['root'],
  },
  {
    row: 'with default for it',
    role: { disallowed_policies: ['x'] },
    caller: ['web'],
    is: ['default', 'web'],
  },
  { row: 'root where it is listed', role: { allowed_policies: ['root'] }, is: ['root'] },
])('the policies of a role: $row', ({ role, asked = [], without = false, caller = ['root'], is }) => {
  expect(listsPolicies(role)).toBe(true)
  expect(rolePolicies(role, { requested: asked, noDefaultPolicy: without, caller })).toEqual(is)
})

test.each<{ row: string; role: TokenRoleRecord; asked?: string[]; caller?: string[]; text: string }>([
  {
    row: 'a name that is not listed',
    role: ab,
    asked: ['c'],
    text: `token policies (["c" "default"]) must be subset of the role's allowed policies (["a" "b" "default"]) or glob policies ([])`,
  },
  {
    row: 'root is refused like any other name',
    role: { ...ab, allowed_policies_glob: ['x*', 'y*'] },
    asked: ['ROOT'],
    text: `token policies (["root"]) must be subset of the role's allowed policies (["a" "b" "default"]) or glob policies (["x*" "y*"])`,
  },
  {
    row: 'default is listed and forbidden',
    role: { allowed_policies: ['default'], disallowed_policies: ['default'] },
    text: 'token policy "default" is disallowed by this role',
  },
  {
    row: 'asked for and forbidden',
    role: { disallowed_policies: ['x'] },
    asked: ['x'],
    text: 'token policy "x" is disallowed by this role',
  },
  {
    row: 'a forbidding glob beats a name',
    role: { ...ab, disallowed_policies_glob: ['*b*'] },
    asked: ['b'],
    text: 'token policy "b" is disallowed by this role',
  },
  {
    row: 'the caller has it',
    role: { disallowed_policies: ['root'] },
    caller: ['root'],
    text: 'token policy "root" is disallowed by this role',
  },
])('policies that a role refuses: $row', ({ role, asked = [], caller = ['root'], text }) => {
  expect(() => rolePolicies(role, { requested: asked, noDefaultPolicy: false, caller })).toThrow(text)
})

test('a refusal of many names stays short', () => {
  const asked = Array.from({ length: 5000 }, (_one, at) => `policy-${at}`)

  expect(() => rolePolicies(ab, { requested: asked, noDefaultPolicy: false, caller: [] })).toThrow(
    /^.{0,2000}$/,
  )
})

test('a role that lists no policies does not restrict policies', () => {
  expect(listsPolicies({ token_no_default_policy: true, allowed_policies: [] })).toBe(false)
})

test.each([
  { asked: 'alice', ok: true },
  { asked: 'ALICE', ok: true },
  { asked: ' Alice ', ok: false },
  { asked: 'ci-deploy', ok: true },
  { asked: 'ci-', ok: true },
  { asked: 'bob', ok: false },
  { asked: 'alice2', ok: false },
  { asked: 'xci-1', ok: false },
])('a role for alice and ci-* is for "$asked": $ok', ({ asked, ok }) => {
  const role = { allowed_entity_aliases: ['alice', 'ci-*'] }

  if (ok) expect(entityAliasOf(role, asked)).toBe(asked)
  else expect(() => entityAliasOf(role, asked)).toThrow("invalid 'entity_alias' value")
})

test('without a role, or with one that allows no aliases, entity_alias is refused', () => {
  expect(() => entityAliasOf(undefined, 'a')).toThrow(
    "'entity_alias' is only allowed in combination with token role",
  )
  expect(() => entityAliasOf({}, 'a')).toThrow("invalid 'entity_alias' value")
})
