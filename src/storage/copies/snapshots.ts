import { stat, statfs, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { ServiceError } from '../../errors.ts'
import { engineCode, ownCodes, storageError } from '../storage-error.ts'
import { copyDatabase } from './backup-copy.ts'
import type { GivenFacts } from './backup-facts.ts'
import type { CopySource } from './backup-program.ts'
import { noteBackup } from './last-backup.ts'

/** A backup as a stream of `bytes` bytes. Its file has no name and ends with the stream. */
export type Snapshot = { readonly bytes: number; readonly stream: Readable }

export type SnapshotParts = {
  readonly source: CopySource
  /** Where the file is made; it gets no name for long. */
  readonly target: string
}

/** Free disk space that a snapshot must leave to the server. */
const reservedBytes = 64 * 1024 * 1024

/** Makes backups of an open database for clients, one at a time, because each needs as much disk space. */
export class Snapshots {
  readonly #parts: SnapshotParts
  #isBusy = false

  constructor(parts: SnapshotParts) {
    this.#parts = parts
  }

  /**
   * Throws a ServiceError: `throttled` until the stream of an earlier snapshot has ended, `unavailable` without
   * enough disk space or if the database cannot be copied.
   */
  async take(given: GivenFacts, signal: AbortSignal): Promise<Snapshot> {
    if (this.#isBusy) throw new ServiceError('throttled', 'another snapshot is being taken')
    this.#isBusy = true
    try {
      await this.#checkRoom()
      return await this.#copy(given, signal)
    } catch (cause) {
      this.#isBusy = false
      throw cause instanceof ServiceError ? cause : failureOf(cause)
    }
  }

  async #checkRoom(): Promise<void> {
    const { source, target } = this.#parts
    const { bavail, bsize } = await statfs(dirname(target))
    // nobody says how much space the records of a PostgreSQL database take
    const neededBytes = (typeof source === 'string' ? (await stat(source)).size : 0) + reservedBytes
    if (bavail * bsize < neededBytes)
      throw storageError(ownCodes.roomKept, new Error('there is no room for a snapshot beside the database'))
  }

  async #copy(given: GivenFacts, signal: AbortSignal): Promise<Snapshot> {
    // no other snapshot is being taken, so a file of this name was left by a killed server
    const { source, target } = this.#parts
    const { handle } = await copyDatabase({ source, target, given, signal })
    await unlink(target)
    const { size: bytes } = await handle.stat()
    const stream = handle.createReadStream({ start: 0 })
    stream.once('end', () => {
      if (typeof source === 'string') noteBackup(source)
    })
    stream.once('close', () => {
      this.#isBusy = false
    })
    return { bytes, stream }
  }
}

function failureOf(cause: unknown): ServiceError {
  const code = engineCode(cause)
  if (code === ownCodes.logFull && cause instanceof Error)
    return new ServiceError('unavailable', `the snapshot was given up: ${cause.message}`, {
      cause,
      reason: code,
    })
  return storageError(code, cause)
}
