import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { constants, openSync, readFileSync, writeFileSync } from 'node:fs'
import { appendFile, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

/** What a shell asks a program to do. */
type Call = {
  readonly args: readonly string[]
  readonly folder: string
  /** The variables named in `passed`. */
  readonly environment: Readonly<Record<string, string>>
  readonly stdin: string
  /** Notes a request and its status. */
  journal(line: string): void
}

/** How a program ends. One that throws writes the error to standard error, and ends with 1. */
type Reply = { readonly output: string | Uint8Array; readonly code?: number; readonly error?: string }

export type StandIn = {
  /** A condition of the shell with which it reads standard input; default: never. */
  readonly reads?: string
  perform(call: Call): Promise<Reply>
}

const passed = ['VAULT_ADDR', 'VAULT_TOKEN', 'AZ_URL', 'AZ_LOGIN', 'NODE_EXTRA_CA_CERTS', 'SHELL_ID']

const failure = (problem: unknown): Reply => ({ output: '', code: 1, error: `${problem}\n` })

/** What a script did. */
export type Followed = {
  /** Status, method, path and query of every request, in order. */
  readonly requests: readonly string[]
  /** The output of the shell. */
  readonly output: string
}

type StandIns = AsyncDisposable & {
  /** Runs a script in a shell that finds the programs, after those in `env.PATH`. Rejects if it fails. */
  run(script: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }): Promise<Followed>
}

/**
 * Programs of a shell that this process performs, because a start of Node for each call takes most of the time of a
 * page: the shell leaves its call in a file, says so at a door, and waits for the exit code.
 */
export async function openStandIns(programs: Readonly<Record<string, StandIn>>): Promise<StandIns> {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const door = folder.file('door')
  await run('mkfifo', ['-m', '600', door])
  for (const [name, { reads }] of Object.entries(programs))
    await writeFile(folder.file(name), script(door, reads), { mode: 0o700 })
  const journals = new Map<string, string[]>()
  const serve = async (place: string) => {
    const [name = '', cwd = '', ...texts] = readFileSync(`${place}.call`, 'utf8').split('\0').slice(0, -1)
    const stdin = readFileSync(`${place}.in`, 'utf8')
    const environment = Object.fromEntries(passed.map((variable, at) => [variable, texts[at] ?? '']))
    const journal = (line: string) => void journals.get(environment['SHELL_ID'] ?? '')?.push(line)
    const call = { args: texts.slice(passed.length), folder: cwd, environment, stdin, journal }
    const replied = programs[name]?.perform(call).catch(failure)
    const { output, code = 0, error = '' }: Reply = (await replied) ?? failure(`no program ${name}`)
    writeFileSync(`${place}.out`, output)
    writeFileSync(`${place}.err`, error)
    await appendFile(place, `${code}\n`)
  }
  // also for writing, so that it does not end between two calls
  const calls = new Socket({ fd: openSync(door, constants.O_RDWR | constants.O_NONBLOCK), writable: false })
  opened.defer(() => void calls.destroy())
  createInterface({ input: calls }).on('line', (place) => void serve(place))
  const held = opened.move()
  return {
    run: async (script, { cwd, env }) => {
      const id = randomUUID()
      const requests: string[] = []
      journals.set(id, requests)
      const path = [...(env['PATH'] ?? '').split(':'), folder.path, process.env['PATH']].filter(
        (one) => one !== '',
      )
      const { stdout: output } = await run('/bin/sh', ['-euc', script], {
        cwd,
        timeout: 60_000,
        env: { ...env, PATH: path.join(':'), SHELL_ID: id },
      })
      return { requests, output }
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

const script = (door: string, reads = 'false'): string => `#!/bin/sh
umask 077
place="${door}.$$"
mkfifo "$place"
exec 3<>"$place"
if ${reads}; then cat; fi > "$place.in"
printf '%s\\0' "\${0##*/}" "$PWD" ${passed.map((name) => `"\${${name}-}"`).join(' ')} "$@" > "$place.call"
echo "$place" > '${door}'
read -r code <&3
if [ -s "$place.out" ]; then cat "$place.out"; fi
if [ -s "$place.err" ]; then cat "$place.err" >&2; fi
exit "$code"
`
