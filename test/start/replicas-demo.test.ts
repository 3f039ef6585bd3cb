import { chmod, readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { runProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('npm run demo:replicas kills a server while clients go on, and ends by itself', {
  timeout: 60_000,
}, async () => {
  await using folder = await temporaryFolder()
  // PostgreSQL runs as another user
  await chmod(folder.path, 0o711)

  const { code, stdout, stderr } = await runProcess('simulators/replicas-demo.ts', {
    folder: folder.path,
    environment: { TMPDIR: folder.path },
  })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const counts = [...stdout.matchAll(/Requests served: (\d+) by one, (\d+) by two/g)].map(([, one, two]) => [
    Number(one) > 0,
    Number(two) > 0,
  ])
  expect(counts).toEqual([
    [true, true],
    [true, false],
    [true, true],
    [false, true],
  ])
  expect(stdout).toContain('none was left without a token')
  expect(/hv[sb]\.\w{7}|eyJ[\w-]{8}/.exec(stdout)).toBeNull()
  expect(await readdir(folder.path)).toEqual([])
})
