import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../../../support/client.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import { type Fields, type LoginFixture, openLoginFixture } from '../explain/fixture.ts'
import { checksOf, reportOf } from './report.ts'

let fixture: LoginFixture
beforeAll(async () => {
  fixture = await openLoginFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

/** A mount whose role `ci` is that of the fixture with overrides, and logins with these claims. */
async function mountWithLogins(role: Fields, ...logins: Fields[]): Promise<string> {
  const mount = await fixture.mount({ role })
  for (const claims of logins) {
    const login = await fixture.login(mount, { jwt: await fixture.sign(claims) })
    if (login.status !== 200) throw new Error(login.text)
  }
  return mount
}

const whatIf = (mount: string, fields: Fields, name = 'ci'): Promise<Answer> =>
  fixture.root.write(`auth/${mount}/role/${name}/what-if`, { role_type: 'jwt', ...fields })

const numbers = (answer: Answer) => {
  const { subjects, succeed, lose, unknown, regain, refused_before } = reportOf(answer)
  return { subjects, succeed, lose, unknown, regain, refused_before }
}
const all = (part: Fields, subjects = 1) => ({
  subjects,
  succeed: 0,
  lose: 0,
  unknown: 0,
  regain: 0,
  refused_before: 0,
  ...part,
})

test('a what-if names who would lose access, at which check, and what that compares', async () => {
  const mount = await mountWithLogins(
    { bound_claims: { repository: ['acme/shop', 'acme/web'] } },
    {},
    { sub: 'web', repository: 'acme/web' },
  )
  const hash = await fixture.root.write(`auth/${mount}/failures/hash`, { input: 'web' })

  const answer = await whatIf(mount, { bound_claims: { repository: ['acme/shop', 'acme/blog'] } })

  expect(answer.status, answer.text).toBe(200)
  expect(numbers(answer)).toEqual(all({ succeed: 1, lose: 1 }, 2))
  expect(reportOf(answer).losers).toEqual([
    {
      role: 'ci',
      subject: hash.body.data?.['hash'],
      entity_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      path: 'login',
      last_login_at: expect.stringMatching(/^20\d\d-/),
      logins: 1,
      check: 'bound_claims',
      reason: 'bound_claim_mismatch',
      expected: ['acme/shop', 'acme/blog'],
      seen: 'acme/web',
      hint: '',
      detail: 'repository',
    },
  ])
})

test('a what-if changes nothing', async () => {
  const mount = await mountWithLogins({})
  const before = await fixture.root.read(`auth/${mount}/role/ci`)

  await whatIf(mount, { bound_audiences: ['other'], token_ttl: 60 })

  expect((await fixture.root.read(`auth/${mount}/role/ci`)).body.data).toEqual(before.body.data)
  expect((await whatIf(mount, { user_claim: 'sub', bound_audiences: ['a'] }, 'new')).status).toBe(200)
  expect((await fixture.root.read(`auth/${mount}/role/new`)).status).toBe(404)
})

const sameRole = { bound_claims: { repository: 'acme/shop' } }
const cases: readonly {
  name: string
  role?: Fields
  claims?: Fields
  change: Fields
  found: Fields
  check?: string
}[] = [
  { name: 'the same again', change: {}, found: { succeed: 1 } },
  {
    name: 'a bound value that the subject has not',
    change: { bound_claims: { repository: 'acme/web' } },
    found: { lose: 1 },
    check: 'bound_claims',
  },
  {
    name: 'one more value',
    change: { bound_claims: { repository: ['acme/web', 'acme/shop'] } },
    found: { succeed: 1 },
  },
  {
    name: 'a claim that the token has not',
    change: { bound_claims: { ...sameRole.bound_claims, team: 'x' } },
    found: { lose: 1 },
    check: 'bound_claims',
  },
  {
    name: 'a claim that was not looked at',
    change: { bound_claims: { ...sameRole.bound_claims, ref: 'refs/heads/main' } },
    found: { unknown: 1 },
  },
  {
    name: 'a claim that was mapped',
    role: { claim_mappings: { ref: 'ref' } },
    change: { bound_claims: { ref: 'refs/heads/main' } },
    found: { succeed: 1 },
  },
  { name: 'no bound claim any more', change: { bound_claims: {} }, found: { succeed: 1 } },
  { name: 'another audience', change: { bound_audiences: ['vault'] }, found: { lose: 1 }, check: 'audience' },
  { name: 'one more audience', change: { bound_audiences: ['vault', 'gatehouse'] }, found: { succeed: 1 } },
  { name: 'no audience', change: { bound_audiences: [] }, found: { lose: 1 }, check: 'audience' },
  {
    name: 'a subject that was not looked at: it names the alias',
    change: { bound_subject: 'repo:acme/shop' },
    found: { succeed: 1 },
  },
  { name: 'another subject', change: { bound_subject: 'joe' }, found: { lose: 1 }, check: 'subject' },
  {
    name: 'a user claim that the token has not',
    change: { user_claim: 'email' },
    found: { lose: 1 },
    check: 'user_claim',
  },
  { name: 'a user claim that was not looked at', change: { user_claim: 'ref' }, found: { unknown: 1 } },
  { name: 'a user claim that is a text', change: { user_claim: 'repository' }, found: { succeed: 1 } },
  {
    name: 'groups that the token has not',
    change: { groups_claim: 'groups' },
    found: { lose: 1 },
    check: 'groups',
  },
  {
    name: 'groups that may be absent',
    change: { groups_claim: 'groups', groups_claim_optional: true },
    found: { succeed: 1 },
  },
  {
    name: 'another type of role',
    change: { role_type: 'oidc', allowed_redirect_uris: ['https://x/cb'] },
    found: { lose: 1 },
    check: 'role',
  },
  {
    name: 'addresses of another network',
    change: { token_bound_cidrs: ['10.0.0.0/8'] },
    found: { lose: 1 },
    check: 'address',
  },
  {
    name: 'addresses of the same network',
    change: { token_bound_cidrs: ['127.0.0.0/8'] },
    found: { succeed: 1 },
  },
  {
    name: 'a policy that no login may give',
    change: { token_policies: ['root'] },
    found: { lose: 1 },
    check: 'policies',
  },
  { name: 'a shorter life', change: { token_ttl: 60 }, found: { succeed: 1 } },
  {
    name: 'a number instead of a text',
    role: { bound_claims: { id: 7 } },
    claims: { id: 7 },
    change: { bound_claims: { id: '7' } },
    found: { lose: 1 },
    check: 'bound_claims',
  },
  {
    name: 'the same number',
    role: { bound_claims: { id: 7 } },
    claims: { id: 7 },
    change: { bound_claims: { id: [8, 7] } },
    found: { succeed: 1 },
  },
  {
    name: 'a bool',
    role: { bound_claims: { ok: true } },
    claims: { ok: true },
    change: { bound_claims: { ok: false } },
    found: { lose: 1 },
    check: 'bound_claims',
  },
  {
    name: 'one item of a list',
    role: { bound_claims: { teams: 'a' } },
    claims: { teams: ['a', 'b'] },
    change: { bound_claims: { teams: 'b' } },
    found: { succeed: 1 },
  },
  {
    name: 'no item of a list',
    role: { bound_claims: { teams: 'a' } },
    claims: { teams: ['a', 'b'] },
    change: { bound_claims: { teams: 'c' } },
    found: { lose: 1 },
    check: 'bound_claims',
  },
  {
    name: 'an empty audience, which counts as none',
    role: { bound_audiences: [] },
    claims: { aud: '' },
    change: { bound_claims: { repository: ['acme/shop', 'acme/web'] } },
    found: { succeed: 1 },
  },
  {
    name: 'groups that were optional, and absent',
    role: { groups_claim: 'teams', groups_claim_optional: true },
    change: { groups_claim_optional: false },
    found: { lose: 1 },
    check: 'groups',
  },
  {
    name: 'a claim inside another that is remembered too',
    role: { bound_claims: { '/job/env': 'prod' }, claim_mappings: { job: 'job' } },
    claims: { job: { env: 'prod' } },
    change: { bound_claims: { '/job/env': ['prod', 'dev'] } },
    found: { succeed: 1 },
  },
  {
    name: 'a claim inside another',
    role: { bound_claims: { '/job/env': 'prod' } },
    claims: { job: { env: 'prod' } },
    change: { bound_claims: { '/job/env': 'dev' } },
    found: { lose: 1 },
    check: 'bound_claims',
  },
  {
    name: 'policies named by a claim that the token has not',
    change: { token_policies_template_claims: true, token_policies: ['p-{{ .team }}'] },
    found: { lose: 1 },
    check: 'policies',
  },
]

/** What a login with these claims gets once the change is made: what the what-if has said. */
async function saidTrue(mount: string, change: Fields, claims: Fields, found: Fields): Promise<void> {
  const written = await fixture.root.write(`auth/${mount}/role/ci`, { role_type: 'jwt', ...change })
  expect(written.status, written.text).toBeLessThan(300)
  const login = await fixture.login(mount, { jwt: await fixture.sign(claims) })
  if (found['unknown'] === undefined)
    expect(login.status === 200 ? 'succeed' : 'lose').toBe(Object.keys(found)[0])
}

test.each(cases)(
  'a remembered login is tried with the role as it would be: $name',
  async ({ role = {}, claims = {}, change, found, check }) => {
    const mount = await mountWithLogins(role, claims)

    const answer = await whatIf(mount, change)

    expect(answer.status, answer.text).toBe(200)
    expect(numbers(answer)).toEqual(all(found))
    expect(checksOf(answer)).toEqual(check === undefined ? [] : [check])
    await saidTrue(mount, change, claims, found)
  },
)

/** A role that binds `ref` with patterns, and a login with a value of it. */
const patterns: readonly { name: string; before: string[]; ref: string; after: string[]; found: Fields }[] = [
  {
    name: 'the same',
    before: ['refs/heads/*'],
    ref: 'refs/heads/main',
    after: ['refs/heads/*'],
    found: { succeed: 1 },
  },
  {
    name: 'one that matches more',
    before: ['refs/heads/*'],
    ref: 'refs/heads/main',
    after: ['refs/*'],
    found: { succeed: 1 },
  },
  { name: 'any', before: ['refs/heads/*'], ref: 'refs/heads/main', after: ['*'], found: { succeed: 1 } },
  {
    name: 'one that matches less',
    before: ['refs/heads/*'],
    ref: 'refs/heads/main',
    after: ['refs/heads/m*'],
    found: { unknown: 1 },
  },
  {
    name: 'one of other texts',
    before: ['refs/heads/*'],
    ref: 'refs/heads/main',
    after: ['refs/tags/*'],
    found: { lose: 1 },
  },
  {
    name: 'the text itself',
    before: ['refs/heads/*'],
    ref: 'refs/heads/main',
    after: ['refs/heads/main'],
    found: { succeed: 1 },
  },
  {
    name: 'another text',
    before: ['refs/heads/*'],
    ref: 'refs/heads/main',
    after: ['refs/heads/other'],
    found: { lose: 1 },
  },
  {
    name: 'a pattern for a text that the role names',
    before: ['refs/heads/main'],
    ref: 'refs/heads/main',
    after: ['refs/*/main'],
    found: { succeed: 1 },
  },
  {
    name: 'a pattern that a text of the role does not match',
    before: ['refs/heads/main'],
    ref: 'refs/heads/main',
    after: ['refs/*/dev'],
    found: { lose: 1 },
  },
  {
    name: 'one of several that matches more',
    before: ['a*', 'refs/heads/*'],
    ref: 'refs/heads/main',
    after: ['refs/heads/x', 'ref*'],
    found: { succeed: 1 },
  },
]

test.each(patterns)(
  'a pattern is compared with what is known of a hashed value: $name',
  async ({ before, ref, after, found }) => {
    const mount = await mountWithLogins({ bound_claims_type: 'glob', bound_claims: { ref: before } }, { ref })

    const change = { bound_claims_type: 'glob', bound_claims: { ref: after } }
    const answer = await whatIf(mount, change)

    expect(numbers(answer), answer.text).toEqual(all(found))
    await saidTrue(mount, change, { ref }, found)
  },
)

test('what cannot be judged is counted by check, with the reason', async () => {
  const mount = await mountWithLogins({}, {}, { sub: 'two' })

  const answer = await whatIf(mount, { bound_claims: { ...sameRole.bound_claims, ref: 'refs/heads/main' } })

  expect(reportOf(answer).cannot_be_judged).toEqual([
    {
      check: 'bound_claims',
      subjects: 2,
      text: 'the claim was not remembered, or a pattern is compared with what is only known as a hash',
    },
  ])
})

describe('the report', () => {
  test('says whom the role would let in besides, what tokens would get, and what the linter says', async () => {
    const mount = await mountWithLogins({ bound_subject: 'repo:acme/shop' }, {})

    const answer = await whatIf(mount, {
      bound_subject: '',
      bound_audiences: ['gatehouse', 'vault'],
      bound_claims_type: 'glob',
      bound_claims: { repository: ['acme/shop', 'acme/*'] },
      token_policies: ['deploy', 'nobody-made-it'],
      token_ttl: 60,
      expiration_leeway: 149,
      clock_skew_leeway: 61,
    })

    expect(reportOf(answer).admits_more).toEqual([
      { field: 'bound_audiences', text: 'tokens for audience "vault"' },
      { field: 'bound_subject', text: 'any subject' },
      { field: 'bound_claims.repository', text: 'values like "acme/*"' },
      { field: 'clock_skew_leeway', text: 'tokens before or after their time' },
    ])
    expect(reportOf(answer).changes).toEqual([
      { field: 'token_ttl', before: 900, after: 60 },
      { field: 'token_policies', before: ['deploy'], after: ['deploy', 'nobody-made-it'] },
    ])
    expect(reportOf(answer).lint.before).toEqual([])
    expect(reportOf(answer).lint.after).toContainEqual(expect.objectContaining({ code: 'policy_missing' }))
  })

  testOfOneServer('counts refused logins that would succeed now', async () => {
    const mount = await mountWithLogins({})
    const refused = async (claims: Fields) => {
      const login = await fixture.login(mount, { jwt: await fixture.sign(claims) })
      expect(login.status).toBe(400)
      return login.body['request_id']
    }
    const fixed = [await refused({ repository: 'acme/web' }), await refused({ repository: 'acme/wiki' })]
    await refused({ repository: 'other/web' })
    await refused({ repository: 'acme/web', aud: 'vault' })
    await refused({ exp: 1, iat: 1 })

    const exact = await whatIf(mount, { bound_claims: { repository: ['acme/web', 'acme/wiki'] } })
    const pattern = await whatIf(mount, { bound_claims_type: 'glob', bound_claims: { repository: 'acme/*' } })

    expect(reportOf(exact).refusals).toEqual({ tried: 5, would_succeed: 2, unknown: 0, request_ids: fixed })
    expect(reportOf(pattern).refusals).toEqual({ tried: 5, would_succeed: 2, unknown: 0, request_ids: fixed })
  })

  test('distinguishes who was refused before', async () => {
    const mount = await mountWithLogins(
      { bound_claims: { repository: ['acme/shop', 'acme/web'] } },
      {},
      { sub: 'web', repository: 'acme/web' },
    )
    await fixture.root.write(`auth/${mount}/role/ci`, {
      role_type: 'jwt',
      bound_claims: { repository: 'acme/shop' },
    })

    const same = await whatIf(mount, {})
    const again = await whatIf(mount, { bound_claims: { repository: ['acme/shop', 'acme/web'] } })

    expect(numbers(same)).toEqual(all({ succeed: 1, refused_before: 1 }, 2))
    expect(numbers(again)).toEqual(all({ succeed: 1, regain: 1 }, 2))
  })

  test('a role that a write would refuse is refused in the same words', async () => {
    const mount = await mountWithLogins({})
    const fields = { role_type: 'jwt', bound_claims_type: 'regex' }

    const [tried, written] = [
      await whatIf(mount, fields),
      await fixture.root.write(`auth/${mount}/role/ci`, fields),
    ]

    expect([tried.status, tried.body.errors]).toEqual([400, written.body.errors])
  })
})

describe('guard', () => {
  const narrower = { role_type: 'jwt', bound_claims: { repository: 'acme/web' } }

  test.each([
    { name: 'in the query', path: '?guard=0', body: {} },
    { name: 'in the body', path: '', body: { guard: 0 } },
  ])(
    'a guarded write that would lock somebody out is refused with the report: $name',
    async ({ path, body }) => {
      const mount = await mountWithLogins({}, {})

      const refused = await fixture.root.write(`auth/${mount}/role/ci${path}`, { ...narrower, ...body })

      expect([refused.status, refused.body.errors]).toEqual([
        409,
        ["1 recent subjects would or might lose access, and 'guard' allows 0"],
      ])
      expect(numbers(refused)).toEqual(all({ lose: 1 }))
      expect((await fixture.root.read(`auth/${mount}/role/ci`)).body.data?.['bound_claims']).toEqual(
        sameRole.bound_claims,
      )
    },
  )

  test('a guarded write that locks out no more than that many is made, and keeps no guard', async () => {
    const mount = await mountWithLogins({}, {})

    const written = await fixture.root.write(`auth/${mount}/role/ci?guard=1`, narrower)

    expect(written.status).toBe(204)
    const { data = {} } = (await fixture.root.read(`auth/${mount}/role/ci`)).body
    expect([data['bound_claims'], data['guard']]).toEqual([narrower.bound_claims, undefined])
  })

  test('a guarded deletion of a role that somebody logs in with is refused with the report', async () => {
    const mount = await mountWithLogins({}, {})
    const path = `auth/${mount}/role/ci`

    const refused = await fixture.root.delete(`${path}?guard=0`)

    expect([refused.status, numbers(refused)]).toEqual([409, all({ lose: 1 })])
    expect(reportOf(refused).losers).toMatchObject([{ role: 'ci', check: 'role', reason: 'role_unknown' }])
    expect((await fixture.root.read(path)).status).toBe(200)
    expect((await fixture.root.delete(`${path}?guard=1`)).status).toBe(204)
    expect((await fixture.root.read(path)).status).toBe(404)
    expect((await fixture.root.delete(`${path}?guard=0`)).status).toBe(204)
  })

  test('a guarded revert is a guarded write', async () => {
    const mount = await mountWithLogins({}, {})
    await fixture.root.write(`auth/${mount}/role/ci`, narrower)
    const history = `auth/${mount}/role/ci?history=true`
    const versions = (await fixture.root.read(history)).body.data?.['versions']
    expect(versions).toBeDefined()
    const login = await fixture.login(mount, {
      jwt: await fixture.sign({ sub: 'web', repository: 'acme/web' }),
    })

    const refused = await fixture.root.write(`auth/${mount}/role/ci?revert=1&guard=0`)

    expect([login.status, refused.status]).toEqual([200, 409])
    expect(numbers(refused)).toEqual(all({ lose: 1, regain: 1 }, 2))
  })

  test('whoever cannot be judged counts as lost', async () => {
    const mount = await mountWithLogins({}, {})

    const refused = await fixture.root.write(`auth/${mount}/role/ci?guard=0`, {
      role_type: 'jwt',
      bound_claims: { ...sameRole.bound_claims, ref: 'refs/heads/main' },
    })

    expect([refused.status, reportOf(refused).unknown]).toEqual([409, 1])
  })

  test.each(['-1', 'x', '', '1.5'])('guard=%s is refused', async (guard) => {
    const mount = await mountWithLogins({}, {})

    const refused = await fixture.root.write(`auth/${mount}/role/ci?guard=${guard}`, narrower)

    expect([refused.status, refused.body.errors]).toEqual([
      400,
      ["'guard' must be a number of subjects, 0 or more"],
    ])
  })

  test('a mount that remembers nothing has no guard', async () => {
    const mount = await mountWithLogins({})
    await fixture.root.write(`sys/auth/${mount}/tune`, { options: { history_days: '0' } })

    const refused = await fixture.root.write(`auth/${mount}/role/ci?guard=0`, narrower)

    expect([refused.status, refused.body.errors]).toEqual([
      400,
      ["'guard' needs a memory of logins: 'history_days' of the mount is 0"],
    ])
  })
})

describe('a CEL role', () => {
  const program = (expression: string) => ({ cel_program: { expression }, bound_audiences: ['gatehouse'] })
  const before = program("pb.Auth{alias: logical.Alias{name: 'x:' + claims.sub}}")

  const patch = (path: string, fields: Fields): Promise<Answer> =>
    fixture.root.call('PATCH', path, fields, { headers: { 'Content-Type': 'application/merge-patch+json' } })

  async function mountWithProgram(): Promise<string> {
    const mount = await fixture.mount({ role: {} })
    await fixture.root.write(`auth/${mount}/cel/role/prog`, before)
    const jwt = await fixture.sign({})
    const login = await fixture.server.anonymous.write(`auth/${mount}/cel/login`, { role: 'prog', jwt })
    expect(login.status, login.text).toBe(200)
    return mount
  }

  test.each([
    { name: 'the same', change: before, found: { succeed: 1 } },
    {
      name: 'another audience',
      change: { ...before, bound_audiences: ['x'] },
      found: { lose: 1 },
      check: 'audience',
    },
    { name: 'another program', change: program('false'), found: { unknown: 1 } },
  ])('is tried as far as no program would have to read claims: $name', async ({ change, found, check }) => {
    const mount = await mountWithProgram()

    const answer = await fixture.root.write(`auth/${mount}/cel/role/PROG/what-if`, change)

    expect([answer.status, numbers(answer)]).toEqual([200, all(found)])
    expect(checksOf(answer)).toEqual(check === undefined ? [] : [check])
    expect((await fixture.root.read(`auth/${mount}/cel/role/prog`)).body.data).toMatchObject(before)
  })

  test('that a write would refuse is refused in the same words', async () => {
    const mount = await mountWithProgram()
    const path = `auth/${mount}/cel/role/prog`

    const tried = await fixture.root.write(`${path}/what-if`, program('claims.'))
    const written = await fixture.root.write(path, program('claims.'))

    expect([tried.status, tried.body.errors]).toEqual([400, written.body.errors])
  })

  test('a guard counts whoever a new program would have to judge, for each way of changing it', async () => {
    const mount = await mountWithProgram()
    const path = `auth/${mount}/cel/role/prog`
    const change = program('false')

    const refused = [
      await fixture.root.write(`${path}?guard=0`, change),
      await fixture.root.write(path, { ...change, guard: 0 }),
      await patch(`${path}?guard=0`, change),
      await patch(path, { ...change, guard: 0 }),
      await fixture.root.delete(`${path}?guard=0`),
    ]

    expect(refused.map((one) => [one.status, reportOf(one).cannot_be_judged])).toEqual([
      ...Array.from({ length: 4 }, () => [409, [expect.objectContaining({ check: 'program', subjects: 1 })]]),
      [409, []],
    ])
    expect((await fixture.root.read(path)).body.data).toMatchObject(before)
    expect((await patch(`${path}?guard=0`, { message: 'no' })).status).toBe(200)
    expect((await fixture.root.delete(`${path}?guard=1`)).status).toBe(204)
  })
})
