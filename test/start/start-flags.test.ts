import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Client } from '../support/client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const script = join(import.meta.dirname, '../../bin/gatehouse')
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:GATEHOUSE|VITEST|NODE_OPTIONS)/.test(name)),
)

/** A child process and what it says on standard error. */
function started(command: string, args: readonly string[], cwd: string, environment: NodeJS.ProcessEnv) {
  const child = spawn(command, args, {
    cwd,
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const ended = once(child, 'close')
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const says = async (text: string) => {
    while (!log.includes(text)) await Promise.race([once(child.stderr, 'data'), ended.then(() => gone(log))])
    return log
  }
  return {
    pid: child.pid ?? 0,
    says,
    signal: (name: NodeJS.Signals) => child.kill(name),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const gone = (log: string): never => {
  throw new Error(`the process ended:\n${log}`)
}

/** The number of ports on which a process listens. */
async function listeningPorts(pid: number): Promise<number> {
  const sockets = (await readFile('/proc/net/tcp', 'utf8'))
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  const listening = new Set(
    sockets.filter(([, , , state]) => state === '0A').map((fields) => `socket:[${fields[9]}]`),
  )
  const names = await readdir(`/proc/${pid}/fd`)
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
  return targets.filter((target) => listening.has(target)).length
}

/** True if the process has a handler for this signal. */
async function handles(pid: number, signal: number): Promise<boolean> {
  const [, mask = '0'] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return (BigInt(`0x${mask}`) & (1n << BigInt(signal - 1))) !== 0n
}
const sigusr1 = 10

describe.skipIf(process.platform !== 'linux')('a server that bin/gatehouse started', () => {
  test('opens no port on SIGUSR1, keeps its environment out of diagnostic reports, and writes no core file when it crashes', async () => {
    await using folder = await temporaryFolder()
    const key = 'c0ffee'.padEnd(64, '0')
    await using server = started('sh', [script], folder.path, {
      GATEHOUSE_LISTEN: '127.0.0.1:0',
      GATEHOUSE_SEAL_KEY: key,
      GATEHOUSE_ROOT_TOKEN_FILE: folder.file('root-token'),
      NODE_OPTIONS: '--inspect-port=0 --report-on-signal',
    })
    const [, url = ''] = /listening on (http:\/\/[^\s"]+)/.exec(await server.says('listening on ')) ?? []

    server.signal('SIGUSR1')
    server.signal('SIGUSR2')
    await server.says('Node.js report completed')
    const health = await new Client(url).read('sys/health')
    const report = (await readdir(folder.path)).find((name) => name.startsWith('report.')) ?? ''
    const text = await readFile(folder.file(report), 'utf8')
    const limits = await readFile(`/proc/${server.pid}/limits`, 'utf8')

    expect(health.status).toBe(200)
    expect([await handles(server.pid, sigusr1), await listeningPorts(server.pid)]).toEqual([false, 1])
    expect(text).toContain('"javascriptHeap"')
    expect(text).not.toContain(key)
    expect(text).not.toContain('GATEHOUSE_')
    expect(limits).toMatch(/^Max core file size +0 +0 +bytes *$/m)
  })

  test('differs in this from a program without the flags, whose inspector opens a port', async () => {
    await using folder = await temporaryFolder()
    const waits = "setInterval(() => {}, 1000); console.error('waits')"
    await using program = started(process.execPath, ['--inspect-port=0', '-e', waits], folder.path, {})
    await program.says('waits')

    program.signal('SIGUSR1')
    await program.says('Debugger listening')

    expect([await handles(program.pid, sigusr1), await listeningPorts(program.pid)]).toEqual([true, 1])
  })
})
