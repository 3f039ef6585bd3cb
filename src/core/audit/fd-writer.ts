import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { systemCode } from '../../lib/system/private-file.ts'
import type { AuditFaults } from './audit-faults.ts'
import { type SinkEnd, SinkError } from './sink.ts'

const lineEnd = 0x0a
/** How long to wait for the reader of a full pipe before the next attempt. */
const fullPipeMs = 5

/** Writes whole lines to a file descriptor, however many calls it takes. */
export class FdWriter {
  readonly #faults: AuditFaults | undefined
  #tornBytes = 0

  constructor(faults: AuditFaults | undefined) {
    this.#faults = faults
  }

  /** Waits while a pipe is full. Rejects with a SinkError. */
  async write(fd: number, lines: readonly string[]): Promise<void> {
    const text = Buffer.from(lines.join(''))
    let done = 0
    try {
      const fault = this.#faults?.pass('audit.before-write')
      if (fault !== undefined) {
        done = writeSync(fd, text, 0, Math.ceil((text.length * 3) / 7))
        if (fault === 'cut') process.kill(process.pid, 'SIGKILL')
        throw Object.assign(new Error('injected'), { code: 'ENOSPC' })
      }
      while (done < text.length) done += await writeSome(fd, text, done)
      this.#faults?.pass('audit.after-write')
    } catch (cause) {
      this.#tornBytes = done - 1 - text.subarray(0, done).lastIndexOf(lineEnd)
      const code = systemCode(cause)
      // what a pipe held when its reader left is lost
      throw new SinkError(cause, {
        code,
        written: countLines(text.subarray(0, done)),
        isUncertain: code === 'EPIPE',
      })
    }
  }

  /** The length of the line that the last failure left incomplete. */
  takeTorn(): SinkEnd['torn'] {
    const bytes = this.#tornBytes
    this.#tornBytes = 0
    return bytes === 0 ? undefined : { bytes, isEnded: false }
  }
}

async function writeSome(fd: number, text: Buffer, from: number): Promise<number> {
  try {
    return writeSync(fd, text, from)
  } catch (cause) {
    const code = systemCode(cause)
    if (code === 'EAGAIN') await pause(fullPipeMs)
    else if (code !== 'EINTR') throw cause
    return 0
  }
}

function countLines(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(lineEnd); at >= 0; at = text.indexOf(lineEnd, at + 1)) count += 1
  return count
}
