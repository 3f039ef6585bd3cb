import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { programFile } from '../support/bundled.ts'
import { startInFolder } from '../support/folder-server.ts'
import { startScriptFlags } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('an empty seal key file with an empty store is filled', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.file('data'))
  await writeFile(folder.file('data/seal.key'), '', { mode: 0o600 })
  await using server = await startInFolder({ folder: folder.path })

  expect((await server.as(server.rootToken).read('auth/token/lookup-self')).status).toBe(200)
  expect(await readFile(folder.file('data/seal.key'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
  expect((await readdir(folder.file('data'))).filter((name) => name.startsWith('seal.key'))).toEqual([
    'seal.key',
  ])
})

describe('a first start whose standard output is', () => {
  const command = [process.execPath, ...startScriptFlags, programFile('src/process/main.ts')].join(' ')

  /** Runs a server whose output goes where the shell says, to its end. */
  async function ended(folder: string, redirection: string) {
    const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'))
    const child = spawn('sh', ['-c', `${command} ${redirection}`], {
      cwd: folder,
      env: { ...Object.fromEntries(environment), GATEHOUSE_LISTEN: '127.0.0.1:0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (redirection === '') child.stdout.destroy()
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const [code] = await once(child, 'close')
    return { code, says: stderr.split('\n').filter((line) => line.includes('"level":"fatal"')) }
  }

  test.each([
    { name: 'closed', redirection: '>&-', made: [] },
    { name: '/dev/null', redirection: '>/dev/null', made: [] },
    { name: 'a pipe that nobody reads from any more', redirection: '', made: ['data'] },
  ])('$name ends with 2, and the next one prints the root token', async ({ redirection, made }) => {
    await using folder = await temporaryFolder()

    const refused = await ended(folder.path, redirection)
    const left = (await readdir(folder.path)).filter((name) => made.length > 0 || name !== 'data')
    await using server = await startInFolder({ folder: folder.path })

    expect(refused).toEqual({
      code: 2,
      says: [expect.stringMatching(/"msg":"cannot print the root token \(.*\); nothing is lost/)],
    })
    expect(left).toEqual(made)
    expect((await server.as(server.rootToken).read('auth/token/lookup-self')).status).toBe(200)
  })
})
