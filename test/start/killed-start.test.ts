import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { programFile } from '../support/bundled.ts'
import { startInFolder } from '../support/folder-server.ts'
import { type ProcessOptions, StartedProcess, startScriptFlags } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const program = 'test/start/killed-start-program.ts'
const tokenIn = (text: string) => /^Root token: (\S+)$/m.exec(text)?.[1]

/**
 * Lets a first start copy its folder before each of its steps: what a kill at that moment would leave. Resolves
 * with the number of steps it took until it listened.
 */
async function stepsOfFirstStart(copies: string, options: ProcessOptions): Promise<number> {
  const child = new StartedProcess(program, { ...options, args: [copies] })
  await child.logged('is listening on')
  const steps = await readdir(copies)
  await child.end('SIGKILL')
  return steps.filter((name) => name.endsWith('.printed')).length
}

/** Starts again with what a kill before this step left, and asks with the token that was told. */
async function afterKillAt(step: number, copies: string, inFile: boolean): Promise<object> {
  const folder = join(copies, String(step))
  const printed = await readFile(`${folder}.printed`, 'utf8')
  const inTokenFile = await readFile(join(folder, 'root-token'), 'utf8').catch(() => '')
  await using server = await startInFolder({ folder })
  const told = server.rootTokens
  const before = inFile ? inTokenFile.trim() : tokenIn(printed)
  const tokens = [...(before === undefined || (inFile && told.length > 0) ? [] : [before]), ...told]
  const { status } = await server.as(tokens[0] ?? '').read('auth/token/lookup-self')
  // told twice, it is the same one
  return { step, tokens: new Set(tokens).size, isGood: status === 200 }
}

describe('a first start that is killed before any of its steps', () => {
  test.each([
    { name: 'prints', inFile: false, first: 0, last: 13 },
    { name: 'keeps in a file', inFile: true, first: 10, last: 14 },
  ])(
    'leaves a folder in which the next one serves, with the root token that it or the first one $name',
    async ({ inFile, first, last }) => {
      await using folder = await temporaryFolder()
      await using copies = await temporaryFolder()
      const settings: Record<string, string> = inFile ? { ROOT_TOKEN_FILE: folder.file('root-token') } : {}
      const steps = await stepsOfFirstStart(copies.path, { folder: folder.path, settings })

      const outcomes: object[] = []
      for (let step = first; step < steps; step += 1)
        outcomes.push(await afterKillAt(step, copies.path, inFile))

      expect(outcomes.length).toBeGreaterThan(last - first)
      expect(outcomes).toEqual(outcomes.map((_, at) => ({ step: first + at, tokens: 1, isGood: true })))
    },
  )
})

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
