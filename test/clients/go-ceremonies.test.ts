import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { aPgpHolder, openedBy } from '../support/ceremonies.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const programs = join(import.meta.dirname, 'seal')
/** Go compiles both clients, which takes minutes on a busy machine that has not done so before. */
const patience = { timeout: 900_000 }

type Printed = { fingerprint: string; byPgp: string; tokenHash: string; keys: string[] }

const offline = { ...process.env, GOFLAGS: '-mod=readonly', GOPROXY: 'off', GOWORK: 'off' }

/** Whether Go is there, with the modules of the program: it loads none during a test. */
const goIsReady = (): Promise<boolean> =>
  run('go', ['list', '-deps', '.'], { cwd: programs, env: offline }).then(
    () => true,
    () => false,
  )

test(
  'the Go clients of OpenBao and Vault initialize, unseal, audit, rekey and generate root tokens',
  patience,
  async ({ skip }) => {
    const isSkipped = !(await goIsReady()) && process.env['CI'] !== 'true'
    skip(isSkipped, 'run test/clients/suites/generated/install.sh')
    await using folder = await temporaryFolder()
    const ceremonies = folder.file('ceremonies')
    await run('go', ['build', '-o', ceremonies, '.'], { cwd: programs, env: offline })
    const file = folder.file('audit.log')
    const settings = { SEAL: 'shamir', AUDIT_DIRS: folder.path }
    await using server = await startTestServer({ dev: false, settings })
    const holder = await aPgpHolder()

    const { stdout } = await run(ceremonies, [server.url, holder.text, file])

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
