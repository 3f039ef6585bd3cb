import { Buffer } from 'node:buffer'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { foreignEnvironment } from './foreign-environment.ts'

/** The command failed. The text says how, and has the end of its standard error. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
}

type Options = { readonly input: Uint8Array; readonly timeoutMs: number; readonly maxBytes: number }

const maxErrorBytes = 2_000
const maxShownError = 500

/**
 * Runs a command of the operator's in the shell, and returns its standard output. The command gets `input` on its standard
 * input and the environment without the settings of this server. A command that takes too long or prints too much is killed
 * with all that it started. Throws a CommandFailure. The caller may erase the output.
 */
export async function runShell(
  command: string,
  { input, timeoutMs, maxBytes }: Options,
): Promise<Buffer<ArrayBuffer>> {
  // a process group of its own, which ends as a whole
  const child = spawn('/bin/sh', ['-c', command], { detached: true, env: foreignEnvironment(process.env) })
  let failure: string | undefined
  const giveUp = (reason: string) => {
    failure ??= reason
    endGroup(child.pid)
    // what has left the group may hold them open for ever
    child.stdout.destroy()
    child.stderr.destroy()
  }
  const timer = setTimeout(() => giveUp(`took longer than ${timeoutMs} ms`), timeoutMs)
  const output = new Collected(maxBytes, () => giveUp(`printed more than ${maxBytes} bytes`))
  const complaints = new Collected(maxErrorBytes, () => {})
  child.stdout.on('data', (chunk: Buffer) => output.add(chunk))
  child.stderr.on('data', (chunk: Buffer) => complaints.add(chunk))
  // a command may end without having read its input
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    if (code !== 0) failure ??= signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
    const printed = output.bytes()
    if (failure === undefined) return printed
    const said = complaints.bytes()
    const isTelling = [input, printed].some((secret) => holds(said, secret))
    printed.fill(0)
    throw new CommandFailure(failure + (isTelling ? '' : shown(said)))
  } catch (cause) {
    throw cause instanceof CommandFailure ? cause : new CommandFailure('cannot be started', { cause })
  } finally {
    clearTimeout(timer)
    output.erase()
  }
}

/** Chunks up to a number of bytes; the rest is dropped. */
class Collected {
  readonly #chunks: Buffer[] = []
  readonly #most: number
  readonly #onExcess: () => void
  #length = 0

  constructor(most: number, onExcess: () => void) {
    this.#most = most
    this.#onExcess = onExcess
  }

  add(chunk: Buffer): void {
    if (this.#length + chunk.length > this.#most) {
      this.#onExcess()
      return
    }
    this.#length += chunk.length
    this.#chunks.push(chunk)
  }

  bytes(): Buffer<ArrayBuffer> {
    return Buffer.concat(this.#chunks)
  }

  erase(): void {
    for (const chunk of this.#chunks) chunk.fill(0)
  }
}

/** Whether a text repeats another one, apart from white space around it. */
function holds(text: Buffer, other: Uint8Array): boolean {
  const sought = Buffer.from(other).toString('latin1').trim()
  return sought !== '' && text.includes(sought, 0, 'latin1')
}

const shown = (complaints: Buffer): string => {
  const text = complaints.toString('utf8').trim().slice(0, maxShownError)
  return text === '' ? '' : `: ${text}`
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}
