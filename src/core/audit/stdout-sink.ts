import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import type { AuditFaults } from './audit-faults.ts'
import { FdWriter } from './fd-writer.ts'
import type { Sink, SinkEnd } from './sink.ts'

const { O_APPEND, O_NONBLOCK, O_WRONLY } = constants
const standardOutput = 1

export class StdoutSink implements Sink {
  readonly isReadable = false
  readonly #writer: FdWriter
  #fd: number | undefined

  constructor(faults: AuditFaults | undefined) {
    this.#writer = new FdWriter(faults)
  }

  open(): SinkEnd {
    this.#fd = openStandardOutput()
    return { isNew: false, torn: this.#writer.takeTorn() }
  }

  async write(lines: readonly string[]): Promise<void> {
    if (this.#fd !== undefined) await this.#writer.write(this.#fd, lines)
  }

  async sync(): Promise<void> {}

  close(): void {
    if (this.#fd !== undefined && this.#fd !== standardOutput) closeSync(this.#fd)
    this.#fd = undefined
  }
}

/**
 * A pipe or terminal is opened a second time, so that a write to it never waits; the first descriptor may be
 * shared with other processes. That is impossible for sockets, and wrong for files: both descriptors would
 * write at their own positions.
 */
function openStandardOutput(): number {
  const found = fstatSync(standardOutput)
  if (!found.isFIFO() && !found.isCharacterDevice()) return standardOutput
  try {
    return openSync(`/proc/self/fd/${standardOutput}`, O_WRONLY | O_APPEND | O_NONBLOCK)
  } catch {
    // no /proc, or a terminal of another user
    return standardOutput
  }
}
