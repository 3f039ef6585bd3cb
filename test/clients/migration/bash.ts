import { spawn } from 'node:child_process'
import { once } from 'node:events'

type Bash = AsyncDisposable & {
  /** Runs commands in the shell that ran those before. Rejects if one fails. Resolves with their output. */
  run(script: string): Promise<string>
}

/** One shell of an operator, from the first command to the last. */
export function openBash(options: { cwd: string; env: NodeJS.ProcessEnv }): Bash {
  const child = spawn('bash', { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  // a shell that has ended takes no more commands
  child.stdin.on('error', () => {})
  child.stdin.write('set -euo pipefail\n')
  let count = 0
  return {
    run: async (script) => {
      count += 1
      const mark = `-- end of block ${count} --\n`
      const from = output.length
      child.stdin.write(`{\n${script}\n} </dev/null\nprintf '%s' '${mark}'\n`)
      while (!output.endsWith(mark)) {
        await Promise.race([once(child.stdout, 'data'), ended])
        if (child.exitCode !== null) throw new Error(`a command failed: ${output.slice(from)}${errors}`)
      }
      return output.slice(from, -mark.length)
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end()
      child.kill()
      await ended
    },
  }
}
