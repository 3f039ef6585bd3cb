import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../../support/client.ts'
import { issuer, type JwtDesk, openJwtDesk } from '../../../support/jwt-desk.ts'
import { startTwoServers } from '../../../support/two-servers.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner } from '../signer.ts'
import { checksOf, reportOf } from './report.ts'

let desk: JwtDesk
beforeAll(async () => {
  desk = await openJwtDesk()
  const login = await desk.anonymous.write('auth/jwt/login', { role: 'dev', jwt: desk.jwt() })
  expect(login.status).toBe(200)
})
afterAll(() => desk[Symbol.asyncDispose]())

const other = aSigner('ES256')

describe('a configuration', () => {
  test.each([
    { name: 'the same', change: {}, found: { succeed: 1 } },
    { name: 'the issuer of the tokens', change: { bound_issuer: issuer }, found: { succeed: 1 } },
    { name: 'another issuer', change: { bound_issuer: 'https://x' }, found: { lose: 1 }, check: 'issuer' },
    {
      name: 'another algorithm',
      change: { jwt_supported_algs: ['RS256'] },
      found: { lose: 1 },
      check: 'algorithm',
    },
    { name: 'the algorithm', change: { jwt_supported_algs: ['ES256'] }, found: { succeed: 1 } },
    { name: 'one more key', change: { more: [other.pem] }, found: { succeed: 1 } },
    {
      name: 'another key, which has no id',
      change: { jwt_validation_pubkeys: [other.pem] },
      found: { unknown: 1 },
    },
    {
      name: 'another default for those that name a role',
      change: { default_role: '' },
      found: { succeed: 1 },
    },
  ])('is tried on the logins of all roles: $name', async ({ change, found, check }) => {
    const { more = [], ...fields } = { more: [] as string[], ...change }
    const config = { jwt_validation_pubkeys: [desk.pem, ...more], default_role: 'dev', ...fields }

    const answer = await desk.root.write('auth/jwt/config/what-if', config)

    expect(answer.status, answer.text).toBe(200)
    expect(reportOf(answer)).toMatchObject({ subjects: 1, ...found })
    expect(checksOf(answer)).toEqual(check === undefined ? [] : [check])
    expect((await desk.root.read('auth/jwt/config')).body.data?.['bound_issuer']).toBe('')
  })

  test('that a write would refuse is refused in the same words', async () => {
    const fields = { jwks_url: 'http://127.0.0.1:9/', jwt_validation_pubkeys: [desk.pem] }

    const tried = await desk.root.write('auth/jwt/config/what-if', fields)
    const written = await desk.root.write('auth/jwt/config', fields)

    expect([tried.status, tried.body.errors]).toEqual([400, written.body.errors])
  })

  test('is linted with its roles: what comes and what goes', async () => {
    const config = { jwt_validation_pubkeys: [desk.pem], default_role: 'dev', bound_issuer: issuer }

    const { lint } = reportOf(await desk.root.write('auth/jwt/config/what-if', config))

    expect(lint.before.map(({ code }) => code)).toEqual(['no_issuer'])
    expect(lint.after).toEqual([])
  })

  test('with other keys is judged by the ids of the keys', async () => {
    const [one, two] = [aSigner('ES256', { kid: 'one' }), aSigner('ES256', { kid: 'two' })]
    await using provider = await startProvider({ '/both': jwksOf(one, two), '/two': jwksOf(two) })
    await desk.root.write('sys/auth/keys', { type: 'jwt' })
    await desk.root.write('auth/keys/config', { jwks_url: `${provider.url}/both` })
    await desk.root.write('auth/keys/role/r', { role_type: 'jwt', user_claim: 'sub', bound_subject: 'ann' })
    const jwt = one.sign({ sub: 'ann', exp: Math.floor(Date.now() / 1000) + 60 })
    expect((await desk.anonymous.write('auth/keys/login', { role: 'r', jwt })).status).toBe(200)

    const { body } = await desk.root.write('auth/keys/config/what-if', { jwks_url: `${provider.url}/two` })

    expect(body.data).toMatchObject({
      lose: 1,
      losers: [{ check: 'signature', reason: 'key_unknown', expected: ['two'], seen: 'one' }],
      admits_more: [{ field: 'jwks_url', text: 'tokens that other keys have signed' }],
    })
  })
})

test('a guarded configuration that would lock somebody out is refused with the report', async () => {
  const config = { jwt_validation_pubkeys: [desk.pem], default_role: 'dev' }
  const narrower = { ...config, bound_issuer: 'https://x' }

  const inQuery = await desk.root.write('auth/jwt/config?guard=0', narrower)
  const inBody = await desk.root.write('auth/jwt/config', { ...narrower, guard: 0 })
  const wrong = await desk.root.write('auth/jwt/config?guard=x', config)

  expect([inQuery.status, inBody.status, wrong.status]).toEqual([409, 409, 400])
  expect(reportOf(inQuery)).toMatchObject({ subjects: 1, lose: 1 })
  expect((await desk.root.read('auth/jwt/config')).body.data?.['bound_issuer']).toBe('')
  expect((await desk.root.write('auth/jwt/config?guard=0', config)).status).toBe(204)
  expect((await desk.root.read('auth/jwt/config')).body.data).not.toHaveProperty('guard')
})

describe('rights', () => {
  const role = { role_type: 'jwt', bound_audiences: ['elsewhere'] }

  async function callerWith(rules: Record<string, string[]>): Promise<Client> {
    const policy = Object.entries(rules)
      .map(
        ([path, capabilities]) =>
          `path "auth/jwt/${path}" { capabilities = ${JSON.stringify(capabilities)} }`,
      )
      .join('\n')
    const name = `p${Object.keys(rules).join('-').replace(/\W/g, '')}${Object.values(rules).flat().length}`
    await desk.root.write(`sys/policies/acl/${name}`, { policy })
    const { body } = await desk.root.write('auth/token/create', { policies: [name] })
    return desk.as(String(body.auth?.client_token))
  }

  test.each([
    { name: 'none', rules: { 'role/other': ['update'] }, status: 403 },
    { name: 'read of the path', rules: { 'role/dev/what-if': ['read'] }, status: 403 },
    { name: 'update of the path', rules: { 'role/dev/what-if': ['update'] }, status: 200 },
    { name: 'update of all roles', rules: { 'role/*': ['update'] }, status: 200 },
    {
      name: 'update of all but the role',
      rules: { 'role/*': ['update'], 'role/dev': ['read'] },
      status: 403,
    },
    { name: 'the role in capitals', rules: { 'role/*': ['update'], 'role/DEV': ['deny'] }, status: 403 },
  ])('a what-if of a role needs update: $name', async ({ rules, status }) => {
    const caller = await callerWith(Object.fromEntries(Object.entries(rules)))

    expect((await caller.write('auth/jwt/role/dev/what-if', role)).status).toBe(status)
    expect((await desk.anonymous.write('auth/jwt/role/dev/what-if', role)).status).toBe(403)
  })

  test('whoever may not read a role learns how many, and neither who nor what the role has', async () => {
    const caller = await callerWith({ '*': ['create', 'update'] })

    const tried = await caller.write('auth/jwt/role/dev/what-if', role)
    const guarded = await caller.write('auth/jwt/role/dev?guard=0', role)
    const config = await caller.write('auth/jwt/config/what-if', {
      jwt_validation_pubkeys: [desk.pem],
      bound_issuer: 'https://x',
      default_role: 'dev',
    })

    const hidden = { lose: 1, losers: [], changes: [], lint: { before: [], after: [] } }
    expect(tried.body.data).toMatchObject({ ...hidden, admits_more: [] })
    expect([guarded.status, guarded.body.data]).toEqual([
      409,
      expect.objectContaining({ ...hidden, admits_more: [] }),
    ])
    expect(config.body.data).toMatchObject({ lose: 1, losers: [] })
  })

  test('a what-if of a configuration needs update of it', async () => {
    const caller = await callerWith({ '*': ['update'], config: ['read'] })

    expect(
      (await caller.write('auth/jwt/config/what-if', { jwt_validation_pubkeys: [desk.pem] })).status,
    ).toBe(403)
  })
})

test('many what-ifs of a mount at a time are refused, and none of them fails', async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => desk.root.write('auth/jwt/role/dev/what-if', { role_type: 'jwt' })),
  )

  const statuses = new Set(answers.map(({ status }) => status))
  expect(statuses.has(200)).toBe(true)
  expect([...statuses].filter((status) => status !== 200 && status !== 429)).toEqual([])
})

test('servers that share a database remember the logins of each other', async () => {
  await using servers = await startTwoServers()
  const { one, other: second } = servers
  const signer = aSigner('ES256')
  await one.root.write('sys/auth/jwt', { type: 'jwt' })
  await one.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  await one.root.write('auth/jwt/role/r', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_claims: { team: 'a' },
  })
  const iat = Math.floor(Date.now() / 1000)
  await expect.poll(async () => (await second.root.read('auth/jwt/role/r')).status).toBe(200)
  const logins = [one, second].map((server, at) =>
    server.anonymous.write('auth/jwt/login', {
      role: 'r',
      jwt: signer.sign({ sub: `s${at}`, team: 'a', iat }),
    }),
  )
  expect((await Promise.all(logins)).map(({ status, text }) => (status === 200 ? 200 : text))).toEqual([
    200, 200,
  ])

  const change = { role_type: 'jwt', bound_claims: { team: 'b' } }
  const answers = await Promise.all(
    [one, second].map(({ root }) => root.write('auth/jwt/role/r/what-if', change)),
  )
  const guarded = await second.root.write('auth/jwt/role/r?guard=1', change)

  expect(answers.map(reportOf).map(({ subjects, lose }) => [subjects, lose])).toEqual([
    [2, 2],
    [2, 2],
  ])
  expect(guarded.status).toBe(409)
})
