import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { aPgpHolder, openedBy } from '../support/ceremonies.ts'
import { startTestServer } from '../support/start-server.ts'

const run = promisify(execFile)
const programs = join(import.meta.dirname, 'seal')
/** With the modules that test/clients/generators/install.sh installs. */
const python = join(import.meta.dirname, '../../node_modules/.cache/openapi-generators/python/bin/python')
/** The first run compiles. */
const patience = { timeout: 120_000 }
const shamir = { dev: false, settings: { SEAL: 'shamir' } }

const isOnPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
/** With CI=true, nothing may be missing. */
const isSkipped = (isThere: boolean): boolean => !isThere && process.env['CI'] !== 'true'
const hint = 'run test/clients/generators/install.sh'

test(
  'the Go clients of OpenBao and Vault initialize, unseal, rekey and generate root tokens',
  patience,
  async ({ skip }) => {
    skip(isSkipped(isOnPath('go')), hint)
    await using server = await startTestServer(shamir)
    const holder = await aPgpHolder()
    const offline = { ...process.env, GOFLAGS: '-mod=readonly', GOPROXY: 'off', GOWORK: 'off' }

    const { stdout } = await run('go', ['run', '.', server.url, holder.text], { cwd: programs, env: offline })

    const { fingerprint, byPgp } = JSON.parse(stdout) as { fingerprint: string; byPgp: string }
    expect(fingerprint).toBe(holder.fingerprint)
    const token = await openedBy(holder.privateKey, byPgp)
    expect((await server.as(token).read('auth/token/lookup-self')).body['data']).toMatchObject({
      policies: ['root'],
    })
  },
)

test('hvac initializes, unseals, rekeys and generates a root token', patience, async ({ skip }) => {
  skip(isSkipped(existsSync(python)), hint)
  await using server = await startTestServer(shamir)

  const { stdout } = await run(python, [join(programs, 'ceremonies.py'), server.url])

  expect(stdout).toBe('done\n')
})
