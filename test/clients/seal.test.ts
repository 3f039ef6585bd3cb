import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'

const run = promisify(execFile)
/** With the modules that test/clients/suites/generated/install.sh installs. */
const python = join(import.meta.dirname, '../../node_modules/.cache/openapi-generators/python/bin/python')

test('hvac initializes, unseals, rekeys and generates a root token', async ({ skip }) => {
  // with CI=true, nothing may be missing
  const isSkipped = !existsSync(python) && process.env['CI'] !== 'true'
  skip(isSkipped, 'run test/clients/suites/generated/install.sh')
  await using server = await startTestServer({ dev: false, settings: { SEAL: 'shamir' } })

  const { stdout } = await run(python, [join(import.meta.dirname, 'seal/ceremonies.py'), server.url])

  expect(stdout).toBe('done\n')
})
