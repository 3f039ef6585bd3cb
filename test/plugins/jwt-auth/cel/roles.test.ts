import { expect, test } from 'vitest'
import { shared } from '../../../support/shared.ts'
import { openDesk, verdict } from './desk.ts'

const sharedDesk = shared(() => openDesk())
const path = 'auth/jwt/cel/role'
const program = { expression: 'false' }
const defaults = {
  bound_audiences: [],
  cel_program: { expression: 'false' },
  clock_skew_leeway: 60,
  expiration_leeway: 150,
  not_before_leeway: 150,
  message: '',
}

test('a write answers with the whole role, replaces it, and is read back as sent', async () => {
  const { root, write } = await sharedDesk()
  const sent = {
    bound_audiences: 'x, y',
    expiration_leeway: '2m',
    not_before_leeway: -1,
    clock_skew_leeway: 0,
    message: 'no',
  }
  const kept = {
    ...defaults,
    name: 'a',
    bound_audiences: ['x', 'y'],
    expiration_leeway: 120,
    not_before_leeway: -1,
    clock_skew_leeway: 0,
    message: 'no',
  }

  const first = await write('a', program, sent)
  expect([first.status, first.body.data, first.body.warnings]).toEqual([200, kept, null])
  expect((await root.read(`${path}/a`)).body.data).toEqual(kept)
  expect((await write('a', program)).body.data).toEqual({ ...defaults, name: 'a' })
  const odd = await write('a', program, { zzz: 1, token_policies: ['a'] })
  expect(odd.body.warnings).toEqual(['Endpoint ignored these unrecognized parameters: [token_policies zzz]'])
  const named = await write('a', program, { name: 'other' })
  expect(named.body.data?.name).toBe('a')
  expect(named.body.warnings).toEqual([
    "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [name]",
  ])
  expect(verdict(await write('a', program, { expiration_leeway: 'x' }))).toMatch(
    /^400 Field validation failed: error converting input for field "expiration_leeway": /,
  )
})

test('roles are listed in order, and names are lower-cased', async () => {
  await using desk = await openDesk()
  const { root, write } = desk

  expect((await root.list(path)).status).toBe(404)
  for (const name of ['b', 'A', 'c.d']) await write(name, program)
  expect((await root.list(path)).body.data?.keys).toEqual(['a', 'b', 'c.d'])
  expect((await root.list(`${path}?after=a&limit=1`)).body.data?.keys).toEqual(['b'])
  expect((await root.read(`${path}/B`)).body.data?.name).toBe('b')
  expect((await root.read(`${path}/nope`)).status).toBe(404)
  expect(verdict(await root.read(path))).toBe('405 1 error occurred:\n\t* unsupported operation\n\n')
  expect(verdict(await root.read('auth/jwt/cel/roles/b'))).toBe(
    '404 1 error occurred:\n\t* unsupported path\n\n',
  )
  for (let times = 0; times < 2; times++) expect((await root.delete(`${path}/B`)).status).toBe(204)
  expect((await root.list(path)).body.data?.keys).toEqual(['a', 'c.d'])
})

test('a PATCH keeps what it does not name, null sets back, and the program is merged by member', async () => {
  const { root, write } = await sharedDesk()
  const variables = [{ name: 'x', expression: '1' }]
  const patch = (body: object, name = 'p') =>
    root.call('PATCH', `${path}/${name}`, body, {
      headers: { 'Content-Type': 'application/merge-patch+json' },
    })
  await write('p', { expression: '"one"' }, { message: 'm', bound_audiences: ['a'], expiration_leeway: 7 })

  expect((await patch({ cel_program: { variables } })).body.data).toMatchObject({
    cel_program: { expression: '"one"', variables },
    message: 'm',
    bound_audiences: ['a'],
  })
  expect((await patch({ message: null, bound_audiences: null, expiration_leeway: null })).body.data).toEqual({
    ...defaults,
    name: 'p',
    cel_program: { expression: '"one"', variables },
  })
  expect((await patch({ cel_program: { Expression: '"two"' } })).body.data?.cel_program).toEqual({
    expression: '"two"',
    variables,
  })
  expect(verdict(await patch({ cel_program: { expression: '1 +' } }))).toMatch(/^400 invalid CEL syntax/)
  expect(verdict(await patch({ message: 'x' }, 'nope'))).toBe('400 Unable to fetch cel role entry to patch')
  const plain = { headers: { 'Content-Type': 'application/json' } }
  expect((await root.call('PATCH', `${path}/p`, { message: 'x' }, plain)).status).toBe(415)
})

test('a write needs the capability update, also for a new role', async () => {
  const { root, server } = await sharedDesk()
  const as = async (...capabilities: string[]) => {
    await root.write('sys/policies/acl/roles', {
      policy: JSON.stringify({ path: { 'auth/jwt/cel/role/*': { capabilities } } }),
    })
    const token = await root.write('auth/token/create', { policies: ['roles'] })
    return server.as(String(token.body.auth?.client_token))
  }
  const body = { cel_program: program }

  expect((await (await as('create')).write(`${path}/new`, body)).status).toBe(403)
  expect((await (await as('update')).write(`${path}/new`, body)).status).toBe(200)
  expect((await (await as('update')).read(`${path}/new`)).status).toBe(403)
})

test('a CEL role and an ordinary role of one name are two roles', async () => {
  await using desk = await openDesk()
  const { root, server, write, login, jwt } = desk
  const plainLogin = () => server.anonymous.write('auth/jwt/login', { role: 'dev', jwt: jwt() })
  await root.write('auth/jwt/role/dev', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' })

  expect(verdict(await login('dev'))).toBe('400 role "dev" could not be found')
  await write('dev', { expression: 'pb.Auth{policies: ["app"]}' })
  expect((await login('dev')).body.auth?.policies).toEqual(['app', 'default'])
  expect((await plainLogin()).body.auth?.policies).toEqual(['default'])
  await root.delete('auth/jwt/role/dev')
  expect(verdict(await login('dev'))).toBe('ok')
  expect(verdict(await plainLogin())).toBe('400 role "dev" could not be found')
})
