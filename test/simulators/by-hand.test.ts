import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { runProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function told(program: string, ...args: string[]) {
  await using folder = await temporaryFolder()
  return await runProcess(`simulators/${program}/main.ts`, { folder: folder.path, args })
}

test.each(['ci-issuer', 'directory', 'cluster'])(
  '%s says in one line that its port is taken',
  async (program) => {
    await using other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' ? String(address?.port) : ''

    expect(await told(program, '--port', port)).toEqual({
      code: 2,
      stdout: '',
      stderr: `listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`,
    })
  },
)

// the same function reads the arguments of all of them
test.each([['--prot', '1'], ['9000'], ['--port', 'x'], ['--port', '70000']])(
  'a stand-in says in one line that it does not know %s',
  async (...args) => {
    expect(await told('ci-issuer', ...args)).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^[^\n]+\n$/),
    })
  },
)
