import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { runProcess } from '../../support/process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('a process ends with its exit code although a thread is blocked in a system call', async () => {
  await using folder = await temporaryFolder()
  execFileSync('mkfifo', [folder.file('fifo')])

  const { code } = await runProcess('test/lib/system/blocked-thread-program.ts', {
    folder: folder.path,
    args: [folder.file('fifo')],
  })

  expect(code).toBe(6)
})
