import { vi } from 'vitest'
import { runCommand } from '../../src/commands/commands.ts'
import type { Outcome, ProcessOptions } from './process.ts'

/** A command may handle them for the rest of its process. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a command of this project in the test's process, which costs a tenth of a process of its own: for what the
 * command does and says. One at a time. `backup`, and what reads standard input, need a process (process.ts).
 */
export async function commandHere(
  name: string,
  { folder, args = [], settings = {}, environment = {} }: Omit<ProcessOptions, 'input' | 'settingsFile'>,
): Promise<Outcome> {
  const said = { stdout: '', stderr: '' }
  using undone = new DisposableStack()
  for (const stream of ['stdout', 'stderr'] as const) {
    const write = vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      said[stream] += String(text)
      return true
    })
    undone.defer(() => write.mockRestore())
  }
  for (const signal of signals) {
    const before = process.listeners(signal)
    undone.defer(() => {
      for (const handler of process.listeners(signal))
        if (!before.includes(handler)) process.off(signal, handler)
    })
  }
  const { env, exitCode } = process
  const place = process.cwd()
  undone.defer(() => {
    process.chdir(place)
    process.env = env
    process.exitCode = exitCode
  })
  const own = Object.entries({ LISTEN: '127.0.0.1:0', ...settings }).map(([setting, value]) => [
    `GATEHOUSE_${setting}`,
    value,
  ])
  process.env = { ...env, ...Object.fromEntries(own), ...environment }
  process.chdir(folder)
  process.exitCode = undefined
  await runCommand(name, [...args])
  return { code: Number(process.exitCode ?? 0), ...said }
}
