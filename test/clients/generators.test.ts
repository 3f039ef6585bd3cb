import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const project = join(import.meta.dirname, '../..')
const programs = join(import.meta.dirname, 'generators')
/** The folder into which test/clients/generators/install.sh installs the generators. */
const tools = join(project, 'node_modules/.cache/openapi-generators')
const python = join(tools, 'python/bin/python')
const jar = join(tools, 'openapi-generator-cli.jar')
/** Generated clients are large and slow to compile. */
const patience = { timeout: 300_000 }

const isOnPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

/** Tools that this machine lacks; with CI=true none may be missing. */
function missing(...needed: string[]): string | undefined {
  const absent = needed.filter((one) => (one.includes('/') ? !existsSync(one) : !isOnPath(one)))
  return absent.length === 0 || process.env['CI'] === 'true'
    ? undefined
    : `needs ${absent.join(', ')}: see test/clients/generators/install.sh`
}

let server: TestServer
let jwt = ''
let document = ''
let folder: Awaited<ReturnType<typeof temporaryFolder>>

beforeAll(async () => {
  folder = await temporaryFolder()
  server = await startTestServer()
  const signer = aSigner('ES256')
  await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  await server.root.write('auth/jwt/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
  })
  const now = Math.floor(Date.now() / 1000)
  jwt = signer.sign({ sub: 'build-7', aud: 'gate', iat: now, exp: now + 600 })
  document = folder.file('api.json')
  await writeFile(document, (await server.root.read('sys/internal/specs/openapi')).text)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

/** Checks that the program has logged in and printed its token. */
async function expectLogin(printed: string): Promise<void> {
  const { token, policies } = JSON.parse(printed) as { token: string; policies: string[] }
  const self = await server.as(token).read('auth/token/lookup-self')
  expect(policies).toEqual(['default'])
  expect(self.body.data).toMatchObject({ display_name: 'jwt-build-7', policies })
}

const generate = async (generator: string, to: string, ...options: string[]) => {
  const without = 'apiDocs=false,modelDocs=false,apiTests=false,modelTests=false'
  const args = [
    // most of a short run is the time of its compiler
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-jar',
    jar,
    'generate',
    '-i',
    document,
    '-g',
    generator,
    '-o',
    to,
    '--global-property',
    without,
    ...options,
  ]
  const { stdout, stderr } = await run('java', args, { maxBuffer: 1 << 26 })
  // the generator fails only for input that it cannot read at all
  expect(
    `${stdout}${stderr}`
      .split('\n')
      .filter((line) => / ERROR |\bnull\)? can't be|attribute .* is /.test(line)),
  ).toEqual([])
}

test('openapi-typescript generates types for a client that logs in', patience, async ({ skip }) => {
  const reason = missing(join(tools, 'node_modules/openapi-typescript'))
  skip(reason !== undefined, reason)
  const to = folder.file('typescript')
  await mkdir(to)
  await symlink(join(tools, 'node_modules'), join(to, 'node_modules'))
  await cp(join(programs, 'login.ts.txt'), join(to, 'login.ts'))
  await writeFile(join(to, 'package.json'), '{"type":"module"}')
  const options = {
    target: 'esnext',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  }
  await writeFile(
    join(to, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...options, typeRoots: [join(project, 'node_modules/@types')] } }),
  )

  await run(process.execPath, [
    join(tools, 'node_modules/openapi-typescript/bin/cli.js'),
    document,
    '-o',
    join(to, 'api.ts'),
  ])
  await run(join(project, 'node_modules/.bin/tsc'), ['-p', to, '--types', 'node'])
  const { stdout } = await run(process.execPath, [join(to, 'login.ts'), server.url, jwt])

  await expectLogin(stdout)
})

test(
  'openapi-python-client generates a client for all operations that logs in',
  patience,
  async ({ skip }) => {
    const reason = missing(python)
    skip(reason !== undefined, reason)
    const to = folder.file('python-client')

    const { stdout: told } = await run(join(tools, 'python/bin/openapi-python-client'), [
      'generate',
      '--path',
      document,
      '--output-path',
      to,
    ])
    const { stdout } = await run(python, [join(programs, 'login_python_client.py'), server.url, jwt], {
      env: { ...process.env, PYTHONPATH: to },
    })

    // it omits what it cannot express, with a warning
    expect(told).not.toContain('WARNING')
    await expectLogin(stdout)
  },
)

test('openapi-generator generates a Python client that logs in', patience, async ({ skip }) => {
  const reason = missing('java', jar, python)
  skip(reason !== undefined, reason)
  const to = folder.file('generator-python')

  await generate('python', to)
  const { stdout } = await run(python, [join(programs, 'login_generator.py'), server.url, jwt], {
    env: { ...process.env, PYTHONPATH: to },
  })

  await expectLogin(stdout)
})

test('openapi-generator generates a Go client that compiles and logs in', patience, async ({ skip }) => {
  const reason = missing('java', jar, 'go')
  skip(reason !== undefined, reason)
  const to = folder.file('generator-go')
  const offline = { GOFLAGS: '-mod=mod', GOPROXY: 'off', GOWORK: 'off' }
  const environment = { ...process.env, ...offline, GOGC: '400' }
  const withoutOptimization = ['-gcflags=example.com/gatehouse/client=-N -l', '-ldflags=-s -w']

  await generate(
    'go',
    to,
    '--git-host',
    'example.com',
    '--git-user-id',
    'gatehouse',
    '--git-repo-id',
    'client',
    '--package-name',
    'client',
  )
  await mkdir(join(to, 'login'))
  await cp(join(programs, 'login.go.txt'), join(to, 'login/main.go'))
  const args = ['run', ...withoutOptimization, './login', server.url, jwt]
  const { stdout } = await run('go', args, { cwd: to, env: environment })

  await expectLogin(stdout)
})
