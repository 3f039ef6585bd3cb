import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'

/** With the clients that test/clients/suites/generated/install.sh installs. */
export const pythonPrograms = join(
  import.meta.dirname,
  '../../node_modules/.cache/openapi-generators/python/bin',
)
const program = join(pythonPrograms, 'bao')

/** With CI=true, nothing may be missing. */
export const isSkipped = (isThere: boolean): boolean => !isThere && process.env['CI'] !== 'true'
export const baoIsSkipped = isSkipped(existsSync(program))
export const install = 'run test/clients/suites/generated/install.sh'

export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string }

type Options = {
  readonly server: string
  /** Where a login keeps its token. */
  readonly home: string
  readonly settings?: Readonly<Record<string, string>>
  /** Called for what the command tells the person meanwhile. */
  onTold?(told: string): void
  /** Ends a command that would run on. */
  readonly signal?: AbortSignal
}

/** Runs OpenBao's command line. */
export async function bao(
  args: readonly string[],
  { server, home, settings, onTold, signal }: Options,
): Promise<Ended> {
  const PATH = [pythonPrograms, process.env['PATH']].join(delimiter)
  const child = spawn(program, args, {
    env: { PATH, HOME: home, BAO_ADDR: server, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  signal?.addEventListener('abort', () => child.kill())
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (told: string) => {
    stderr += told
    onTold?.(stderr)
  })
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return { code, stdout, stderr }
}
