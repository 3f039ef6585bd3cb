import { expect, test } from 'vitest'
import { shared } from '../../../support/shared.ts'
import { aProgram, now, openDesk, verdict } from './desk.ts'
import { api, jobs, people } from './gitlab-programs.ts'

const sharedDesk = shared(() => openDesk())

test('a program for people decides by their claims', async () => {
  const { write, login } = await sharedDesk()
  const role = { name: 'people', expiration_leeway: 150, not_before_leeway: 150, clock_skew_leeway: 60 }
  const written = await write('people', people, { ...role, bound_audiences: ['secrets', 'other'] })
  const as = (claims: object) =>
    login('people', {
      aud: 'secrets',
      sub: 'user:alice',
      secrets_manager_scope: 'user',
      project_id: 3,
      user_id: '7',
      role_id: 50,
      member_role_id: null,
      groups: [11, 12],
      ...claims,
    })
  const blocked = (text: string) =>
    `400 error executing cel program: CEL role 'people' blocked authorization with message: ${text}`

  expect([written.status, written.body.data?.cel_program]).toEqual([200, aProgram(people)])
  expect(written.body.warnings).toEqual([
    "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [name]",
  ])
  expect((await as({})).body.auth).toMatchObject({
    token_policies: [
      'default',
      'users/direct/group_11',
      'users/direct/group_12',
      'users/direct/user_7',
      'users/roles/50',
    ],
    metadata: { project_id: '3', coded: '37' },
    lease_duration: 300,
    renewable: false,
  })
  expect((await as({ token_ttl: 60 })).body.auth?.lease_duration).toBe(60)
  expect(verdict(await as({ project_id: 4 }))).toBe(blocked('token project_id does not match role base'))
  expect(verdict(await as({ sub: 'project:3' }))).toBe(blocked('invalid subject for user authentication'))
  expect(verdict(await as({ aud: ['secrets'] }))).toBe(blocked('audience validation failed'))
  expect(verdict(await as({ aud: 'zz' }))).toMatch(/^400 error validating token: invalid audience/)
  expect(verdict(await as({ exp: now(-100) }))).toMatch(/token is expired$/)
})

test.each([
  {
    claims: { project_id: '3', ref: 'main', ref_protected: 'true' },
    policies: ['pipelines/branch/6d61696e', 'pipelines/protected'],
  },
  { claims: { project_id: '3', environment: 'prod/eu' }, policies: ['pipelines/env/70726f642f6575'] },
  { claims: { project_id: 3 }, policies: [] },
])('a program for jobs gives $policies', async ({ claims, policies }) => {
  const { judge } = await sharedDesk()

  expect((await judge(jobs, claims)).body.auth?.token_policies).toEqual(
    ['default', ...policies, 'pipelines/global'].toSorted(),
  )
})

test('a function that does not exist matters only if it is called', async () => {
  const { judge } = await sharedDesk()

  expect((await judge(api, { scope: 'api', group_path: 'a/b' })).body.auth?.policies).toEqual([
    'default',
    'groups/612f62',
  ])
  expect(verdict(await judge(api, { scope: 'legacy', group_path: 'a' }))).toMatch(
    /variable\[2\]\.coded: no such overload: hex$/,
  )
})
