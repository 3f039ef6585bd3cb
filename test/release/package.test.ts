import { execFile } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { bundle } from '../../release/bundle.ts'
import { product } from '../../release/product.ts'
import { startServerProcess } from '../../simulators/server-process.ts'
import { Client } from '../support/client.ts'
import { productVersion } from '../support/product-version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectShippedUi } from '../ui/shipped-ui.ts'

const run = promisify(execFile)
const project = join(import.meta.dirname, '../..')

test('the package has what its program needs to run, and no sources', async () => {
  await using folder = await temporaryFolder()
  const installed = folder.file('node_modules/gatehouse')
  await mkdir(installed, { recursive: true })
  await bundle(product)

  const packing = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder.path]
  const { stdout } = await run('npm', packing, { cwd: project })
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  await run('tar', ['-xzf', folder.file(packed.filename), '--strip-components=1', '-C', installed])
  // as npm installs the packages that this one depends on
  await symlink(join(project, 'node_modules'), join(installed, 'node_modules'))
  const version = await run(join(installed, 'bin/gatehouse'), ['--version'], { cwd: folder.path })
  await using server = await startServerProcess({
    folder: folder.path,
    entry: join(installed, 'dist/gatehouse.js'),
  })
  const health = await new Client(server.url).read('sys/health')
  await expectShippedUi(server.url, server.rootToken)

  const others = packed.files.filter(
    ({ path }) => !/^(?:bin|dist|docs|migrations)\/|^[A-Z]+(?:\.md)?$/.test(path),
  )
  expect(others.map(({ path }) => path)).toEqual(['package.json'])
  expect(version.stdout).toMatch(new RegExp(`^Gatehouse ${productVersion} \\(Node 26\\.`))
  expect(health.status).toBe(200)
})
