import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { runShell } from '../../../src/lib/system/shell-command.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('a command that leaves its process group and keeps its output open does not outlast the time limit', async () => {
  await using folder = await temporaryFolder()
  const sign = folder.file('sign')
  await writeFile(sign, '')
  // it ends with the folder
  const holder = `setsid sh -c 'while [ -e "${sign}" ]; do sleep 0.1; done' & sleep 600`

  const outcome = runShell(holder, { input: Buffer.alloc(0), timeoutMs: 50, maxBytes: 1 })

  await expect(outcome).rejects.toThrow('took longer than 50 ms')
})
