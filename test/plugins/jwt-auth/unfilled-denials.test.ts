import { pino } from 'pino'
import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-server.ts'
import { aSigner } from './signer.ts'

const signer = aSigner('ES256')

test('an alias whose name cannot be filled into its own deny rule is refused all that the rule could mean', async () => {
  const lines: string[] = []
  await using server = await startTestServer({ log: pino({}, { write: (line) => void lines.push(line) }) })
  const { root } = server
  await root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  await root.write('auth/jwt/role/r', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    token_policies: 'own',
  })
  const accessor = String((await root.read('sys/auth')).body.data?.['jwt/']?.['accessor'])
  const policy = `path "cubbyhole/*" { capabilities = ["create", "read", "list"] }
    path "cubbyhole/off/{{identity.entity.aliases.${accessor}.name}}" { capabilities = ["deny"] }`
  const written = await root.write('sys/policies/acl/own', { policy })
  const now = Math.floor(Date.now() / 1000)
  const jwtOf = (sub: string) => signer.sign({ sub, aud: 'gate', iat: now, exp: now + 600 })
  const clientOf = async (sub: string) => {
    const login = await server.anonymous.write('auth/jwt/login', { role: 'r', jwt: jwtOf(sub) })
    expect(login).toMatchObject({ status: 200 })
    return server.as(String(login.body.auth?.client_token))
  }
  const [plain, star] = [await clientOf('a'), await clientOf('a*')]

  const statuses = async (client: typeof plain, path: string) => (await client.write(path, { a: '1' })).status
  expect([await statuses(plain, 'cubbyhole/off/a'), await statuses(plain, 'cubbyhole/off/b')]).toEqual([
    403, 204,
  ])
  expect([await statuses(star, 'cubbyhole/off/a'), await statuses(star, 'cubbyhole/off/a*')]).toEqual([
    403, 403,
  ])
  expect(await statuses(star, 'cubbyhole/on')).toBe(204)

  expect(written).toMatchObject({
    status: 200,
    body: { warnings: [expect.stringContaining('"cubbyhole/off/"')] },
  })
  const asked = await star.write('sys/capabilities-self', { paths: ['cubbyhole/off/z'] })
  expect(asked.body.data?.['capabilities']).toEqual(['deny'])
  const explained = await root.write('auth/jwt/explain', { role: 'r', jwt: jwtOf('a*') })
  expect(explained.body.data?.['login']?.['warnings']).toEqual([expect.stringContaining('policy "own"')])
  const logged = lines.filter((line) => line.includes('policy_unfilled'))
  expect(logged.map((line) => JSON.parse(line).policy)).toEqual(['own'])
})
