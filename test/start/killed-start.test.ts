import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/server.ts'
import { Client } from '../support/client.ts'
import { type ProcessOptions, StartedProcess, startProcess } from '../support/process.ts'
import { quietLog } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const program = 'test/start/killed-start-program.ts'
const tokenIn = (text: string) => /^Root token: (\S+)$/m.exec(text)?.[1]

/** What a first start printed before it was killed at this step; undefined when it has no such step. */
async function printedBeforeKill(step: number, options: ProcessOptions): Promise<string | undefined> {
  const child = new StartedProcess(program, { ...options, args: [String(step)] })
  const listened = child.logged('is listening on').then(
    () => child.end('SIGKILL').then(() => undefined),
    () => child.ended,
  )
  const outcome = await listened
  if (outcome !== undefined) expect(outcome, outcome.stderr).toMatchObject({ code: null })
  return outcome?.stdout
}

/** The next start, in this process: what it prints. */
async function nextStart(settings: Record<string, string>) {
  const named = Object.fromEntries(
    Object.entries({ LISTEN: '127.0.0.1:0', ...settings }).map(([name, value]) => [
      `GATEHOUSE_${name}`,
      value,
    ]),
  )
  const told: string[] = []
  const rootToken = {
    keep: (token: string) => void told.push(token),
    tell: (token: string) => void told.push(token),
  }
  const server = await startServer(readConfig(named, { dev: false, warn: () => {} }), {
    log: quietLog,
    rootToken,
  })
  return {
    server,
    told,
    isGood: async (token: string) =>
      (await new Client(server.url, token).read('auth/token/lookup-self')).status === 200,
  }
}

/**
 * Kills a first start before one of its steps, starts again, and asks with the token that was told. Undefined
 * when there is no such step.
 */
async function afterKillAt(step: number, inFile: boolean): Promise<object | undefined> {
  await using folder = await temporaryFolder()
  const file = folder.file('root-token')
  const settings = {
    STORAGE: `sqlite:${folder.file('data/gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('keys/seal.key'),
    ...(inFile ? { ROOT_TOKEN_FILE: file } : {}),
  }
  const printed = await printedBeforeKill(step, { folder: folder.path, settings })
  if (printed === undefined) return undefined
  const { server, told, isGood } = await nextStart(settings)
  await using _server = server
  const before = inFile ? (await readFile(file, 'utf8').catch(() => '')).trim() : tokenIn(printed)
  const tokens = [...(before === undefined || (inFile && told.length > 0) ? [] : [before]), ...told]
  // told twice, it is the same one
  return { step, tokens: new Set(tokens).size, isGood: await isGood(tokens[0] ?? '') }
}

describe('a first start that is killed before any of its steps', () => {
  test.each([
    { name: 'prints', inFile: false, first: 0, last: 13 },
    { name: 'keeps in a file', inFile: true, first: 10, last: 14 },
  ])(
    'leaves a folder in which the next one serves, with the root token that it or the first one $name',
    async ({ inFile, first, last }) => {
      const outcomes: object[] = []
      for (let step = first; ; step += 2) {
        const batch = await Promise.all([afterKillAt(step, inFile), afterKillAt(step + 1, inFile)])
        outcomes.push(...batch.filter((outcome) => outcome !== undefined))
        if (batch.includes(undefined)) break
      }

      expect(outcomes.length).toBeGreaterThan(last - first)
      expect(outcomes).toEqual(outcomes.map((_, at) => ({ step: first + at, tokens: 1, isGood: true })))
    },
    60_000,
  )
})

test('an empty seal key file beside an empty store is filled', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.file('data'))
  await writeFile(folder.file('data/seal.key'), '', { mode: 0o600 })
  await using server = await startProcess({ folder: folder.path })

  expect((await server.as(server.rootToken).read('auth/token/lookup-self')).status).toBe(200)
  expect(await readFile(folder.file('data/seal.key'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
  expect((await readdir(folder.file('data'))).filter((name) => name.startsWith('seal.key'))).toEqual([
    'seal.key',
  ])
})

describe('a first start whose standard output is', () => {
  const main = join(import.meta.dirname, '../../src/main.ts')

  /** Runs a server whose output goes where the shell says, to its end. */
  async function ended(folder: string, redirection: string) {
    const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'))
    const child = spawn('sh', ['-c', `"${process.execPath}" "${main}" ${redirection}`], {
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
    await using server = await startProcess({ folder: folder.path })

    expect(refused).toEqual({
      code: 2,
      says: [expect.stringMatching(/"msg":"cannot print the root token \(.*\); nothing is lost/)],
    })
    expect(left).toEqual(made)
    expect((await server.as(server.rootToken).read('auth/token/lookup-self')).status).toBe(200)
  })
})
