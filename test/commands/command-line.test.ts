import { expect, test } from 'vitest'
import { runProcess } from '../support/process.ts'
import { productVersion } from '../support/product-version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Case = { args: string[]; code: number; stdout?: unknown; stderr?: string }

test.each<Case>([
  { args: ['--version'], code: 0, stdout: `Gatehouse ${productVersion} (Node ${process.versions.node})\n` },
  ...[
    ['--help'],
    ['-h'],
    ['help'],
    ['server', '--help'],
    ['server', '-h'],
    ['dev', '--help'],
    ['help', 'server'],
  ].map((args) => ({ args, code: 0, stdout: expect.stringContaining('  gatehouse backup FILE\n') })),
  ...[
    ['backup', '--help'],
    ['backup', '-h'],
    ['help', 'backup'],
    ['--help', 'backup'],
  ].map((args) => ({ args, code: 0, stdout: 'usage: gatehouse backup FILE\n' })),
  { args: ['help', 'bakcup'], code: 2, stderr: 'unknown command bakcup; gatehouse --help lists them\n' },
  { args: ['bakcup'], code: 2, stderr: 'unknown command bakcup; gatehouse --help lists them\n' },
])('gatehouse $args ends with $code', async ({ args, code, stdout = '', stderr = '' }) => {
  await using folder = await temporaryFolder()

  expect(await runProcess('src/process/main.ts', { folder: folder.path, args })).toEqual({
    code,
    stdout,
    stderr,
  })
})
