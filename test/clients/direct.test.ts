import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { bao, baoIsSkipped, install, isSkipped, pythonPrograms } from './bao.ts'
import { aPipeline } from './pipeline.ts'

const run = promisify(execFile)
const programs = join(import.meta.dirname, 'seal')
/** Go compiles both clients, which takes minutes on a busy machine that has not done so before. */
const patience = { timeout: 900_000 }

const policy = `
path "shop/data/db" { capabilities = ["read"] }
path "auth/token/create" { capabilities = ["update"] }`

/** A pipeline whose JWT is accepted as a token, and may read one secret. */
async function aDirectPipeline() {
  const pipeline = await aPipeline()
  const { root } = pipeline
  const { data } = (await root.read('auth/jwt/config')).body
  const written = [
    await root.write('auth/jwt/config', { ...data, accept_as_token: true, default_role: 'ci' }),
    await root.write('sys/mounts/shop', { type: 'kv', options: { version: '2' } }),
    await root.write('shop/data/db', { data: { password: 'p' } }),
    await root.write('sys/policies/acl/ci', { policy }),
    await root.write('sys/namespaces/team', {}),
  ]
  expect(written.map(({ status }) => status < 300)).not.toContain(false)
  return pipeline
}

const offline = { ...process.env, GOFLAGS: '-mod=readonly', GOPROXY: 'off', GOWORK: 'off' }
const goIsReady = (): Promise<boolean> =>
  run('go', ['list', '-deps', './direct'], { cwd: programs, env: offline }).then(
    () => true,
    () => false,
  )

test('the Go clients of OpenBao and Vault read a secret without a login', patience, async ({ skip }) => {
  skip(isSkipped(await goIsReady()), install)
  await using server = await aDirectPipeline()
  await using folder = await temporaryFolder()
  const direct = folder.file('direct')
  await run('go', ['build', '-o', direct, './direct'], { cwd: programs, env: offline })

  const { stdout } = await run(direct, [server.url, await server.jwt(), 'team'])

  expect(stdout).toBe('done\n')
})

test('hvac reads a secret without a login', async ({ skip }) => {
  skip(isSkipped(existsSync(join(pythonPrograms, 'python'))), install)
  await using server = await aDirectPipeline()
  // hvac takes a token from the home folder
  await using home = await temporaryFolder()

  const { stdout } = await run(
    join(pythonPrograms, 'python'),
    [join(programs, 'direct/direct.py'), server.url, await server.jwt()],
    { env: { PATH: process.env['PATH'], HOME: home.path } },
  )

  expect(stdout).toBe('done\n')
})

test('`bao login` takes a JWT for a token and keeps it, and BAO_TOKEN needs no login at all', async ({
  skip,
}) => {
  skip(baoIsSkipped, install)
  await using server = await aDirectPipeline()
  await using folder = await temporaryFolder()
  const jwt = await server.jwt()
  const command = (args: string[], settings = {}) =>
    bao(args, { server: server.url, home: folder.path, settings })
  const get = ['kv', 'get', '-mount=shop', '-field=password', 'db']
  const refused = { code: 2, stderr: expect.stringContaining('permission denied') }

  expect((await command(get, { BAO_TOKEN: jwt })).stdout).toBe('p')
  expect(await command(get)).toMatchObject(refused)
  const login = await command(['login', '-format=json', jwt])
  expect(JSON.parse(login.stdout)).toMatchObject({
    auth: { client_token: jwt, policies: ['ci', 'default'], renewable: false },
  })
  expect((await command(get)).stdout).toBe('p')
  expect(await command(['login', `${jwt.slice(0, -2)}xx`])).toMatchObject(refused)
})

test("Terraform's provider reads a secret with skip_child_token, and is told to set it without", async () => {
  await using server = await aDirectPipeline()
  const provider = server.as(await server.jwt())
  const asProvider = (verb: string, path: string, body?: object) =>
    provider.call(verb, path, body, { headers: { 'X-Vault-Request': 'true' } })

  const child = await asProvider('POST', 'auth/token/create', {
    display_name: 'terraform',
    ttl: '1200s',
    explicit_max_ttl: '1200s',
    renewable: false,
  })
  // with the setting, the provider only asks for the namespace of the token and for the version of the server
  const self = await asProvider('GET', 'auth/token/lookup-self')
  const health = await asProvider('GET', 'sys/health')
  const secret = await asProvider('GET', 'shop/data/db')

  expect(child).toMatchObject({
    status: 400,
    body: { errors: [expect.stringContaining('set skip_child_token = true in the Terraform provider')] },
  })
  expect(self.body.data).toMatchObject({ policies: ['ci', 'default'] })
  expect(health.status).toBe(200)
  expect(secret.body.data).toMatchObject({ data: { password: 'p' } })
})
