import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCluster } from '../../simulators/cluster/cluster.ts'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { cloudEnvironment } from '../../simulators/tour/credentials.ts'
import { startTestServer } from '../support/start-server.ts'
import { driverEnvironment } from './conformance/environment.ts'
import { startRecorder } from './conformance/recorder.ts'
import { generatedSuites, project } from './conformance/suites.ts'

const run = promisify(execFile)
/** The folder into which test/clients/suites/generated/install.sh installs the generators. */
const tools = join(project, 'node_modules/.cache/openapi-generators')
/** Generated clients are large and slow to compile. */
const patience = { timeout: 300_000 }

const isOnPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
const isInstalled =
  ['openapi-generator-cli.jar', 'python', 'node_modules'].every((one) => existsSync(join(tools, one))) &&
  ['java', 'go'].every(isOnPath)

const stack = new AsyncDisposableStack()
let environment: Record<string, string>
beforeAll(async () => {
  const directory = stack.use(await startDirectory())
  const server = stack.use(await startTestServer({ environment: cloudEnvironment(directory) }))
  const recorder = stack.use(await startRecorder(server.url))
  const cluster = stack.use(await startCluster())
  const parts = { recorder, rootToken: 'root', directory, cluster, auditFile: '' }
  environment = await driverEnvironment(parts)
})
afterAll(() => stack.disposeAsync())

test.for(generatedSuites)(
  '$client generates a client that compiles, and whose operations all succeed',
  patience,
  async ({ run: { program, args, folder } }, { skip }) => {
    // with CI=true nothing may be missing
    const isSkipped = !isInstalled && process.env['CI'] !== 'true'
    skip(isSkipped, 'see test/clients/suites/generated/install.sh')

    const { stdout } = await run(program, [...args], {
      cwd: join(project, folder),
      env: { ...process.env, ...environment },
    })

    const rows = stdout.split('\n').filter((line) => line !== '')
    expect(rows.length).toBeGreaterThan(5)
    expect(rows.filter((line) => 'error' in JSON.parse(line))).toEqual([])
  },
)
