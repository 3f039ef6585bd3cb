import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** What a failed test leaves is killed, but nothing that a test on a busy machine still uses. */
const longestRunMs = 180_000

/** A program, and what it prints. It ends with the test. */
export function running(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], timeout: longestRunMs })
  const ended = once(child, 'close')
  let output = ''
  const gather = (text: string) => {
    output += text
    child.emit('printed')
  }
  child.stdout.setEncoding('utf8').on('data', gather)
  child.stderr.setEncoding('utf8').on('data', gather)
  return {
    pid: String(child.pid),
    get output() {
      return output
    },
    async prints(text: string): Promise<void> {
      const gone = ended.then(() => Promise.reject(new Error(`ended without "${text}":\n${output}`)))
      gone.catch(() => {})
      while (!output.includes(text)) await Promise.race([once(child, 'printed'), gone])
    },
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    ended: ended.then(([code]) => code as number | null),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
