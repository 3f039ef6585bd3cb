import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { runProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe.each(['simulators/ci-issuer/main.ts', 'simulators/directory/main.ts', 'simulators/cluster/main.ts'])(
  '%s',
  (program) => {
    const told = async (...args: string[]) => {
      await using folder = await temporaryFolder()
      return await runProcess(program, { folder: folder.path, args })
    }

    test('says in one line that its port is taken', async () => {
      await using other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const address = other.address()
      const port = typeof address === 'object' ? String(address?.port) : ''

      expect(await told('--port', port)).toEqual({
        code: 2,
        stdout: '',
        stderr: `listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`,
      })
    })

    test.each([['--prot', '1'], ['9000'], ['--port', 'x'], ['--port', '70000']])(
      'says in one line that it does not know %s',
      async (...args) => {
        expect(await told(...args)).toEqual({
          code: 2,
          stdout: '',
          stderr: expect.stringMatching(/^[^\n]+\n$/),
        })
      },
    )
  },
)
