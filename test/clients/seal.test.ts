import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { aPgpHolder, openedBy } from '../support/ceremonies.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const programs = join(import.meta.dirname, 'seal')
/** With the modules that test/clients/suites/generated/install.sh installs. */
const python = join(import.meta.dirname, '../../node_modules/.cache/openapi-generators/python/bin/python')
/** The first run compiles. */
const patience = { timeout: 120_000 }
const shamir = { dev: false, settings: { SEAL: 'shamir' } }

type Printed = { fingerprint: string; byPgp: string; tokenHash: string; keys: string[] }

const offline = { ...process.env, GOFLAGS: '-mod=readonly', GOPROXY: 'off', GOWORK: 'off' }

/** Whether Go is there, with the modules of the program: it loads none during a test. */
const goIsReady = (): Promise<boolean> =>
  run('go', ['list', '-deps', '.'], { cwd: programs, env: offline }).then(
    () => true,
    () => false,
  )
/** With CI=true, nothing may be missing. */
const isSkipped = (isThere: boolean): boolean => !isThere && process.env['CI'] !== 'true'
const hint = 'run test/clients/suites/generated/install.sh'

test(
  'the Go clients of OpenBao and Vault initialize, unseal, audit, rekey and generate root tokens',
  patience,
  async ({ skip }) => {
    skip(isSkipped(await goIsReady()), hint)
    await using folder = await temporaryFolder()
    const file = folder.file('audit.log')
    const settings = { ...shamir.settings, AUDIT_DIRS: folder.path }
    await using server = await startTestServer({ ...shamir, settings })
    const holder = await aPgpHolder()

    const args = ['run', '.', server.url, holder.text, file]
    const { stdout } = await run('go', args, { cwd: programs, env: offline })

    const { fingerprint, byPgp, tokenHash, keys } = JSON.parse(stdout) as Printed
    expect(fingerprint).toBe(holder.fingerprint)
    const token = await openedBy(holder.privateKey, byPgp)
    expect((await server.as(token).read('auth/token/lookup-self')).body['data']).toMatchObject({
      policies: ['root'],
    })
    const audited = await readFile(file, 'utf8')
    expect(audited).toContain(`"client_token":"${tokenHash}"`)
    expect(audited).toContain('"path":"sys/rotate/root/update"')
    expect(keys.filter((key) => audited.includes(key))).toEqual([])
  },
)

test('hvac initializes, unseals, rekeys and generates a root token', patience, async ({ skip }) => {
  skip(isSkipped(existsSync(python)), hint)
  await using server = await startTestServer(shamir)

  const { stdout } = await run(python, [join(programs, 'ceremonies.py'), server.url])

  expect(stdout).toBe('done\n')
})
