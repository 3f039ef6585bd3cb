import { statfsSync } from 'node:fs'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { StorageFaults } from './faults.ts'
import { type FileIdentity, identityOf, isSameFile } from './file-watch.ts'
import { LogKeeper, type LogLimits, type LogState } from './log-keeper.ts'
import { engineCode, ownCodes } from './storage-error.ts'
import { RecoveringConnection, WritingConnection } from './writing-connection.ts'

/** The start parameters of the writing thread. */
export type WriterData = LogLimits & {
  path: string
  /** Identity of the file at `path`. */
  identity: FileIdentity
  faults: SharedArrayBuffer | undefined
  /** True if the previous thread ended during a group, so that the log must be cleaned first. */
  recover: boolean
}

/**
 * A message with an `answer` follows the opening and each group; one without it only updates the log state.
 */
export type WriterReply = { log: LogState; answer?: { failed?: string; message?: string } }

const idleCheckpointMs = 200
const idleGoalBytes = 256 * 1024
const retryMs = 1_000
/** Failures that occur before anything is written. */
const refusals: ReadonlySet<string> = new Set([ownCodes.logFull, ownCodes.damaged])

/** Commits one group per message: answers first, then checkpoints if needed. */
function serve(port: MessagePort, { path, identity, faults: shared, recover, ...limits }: WriterData): void {
  const faults = shared === undefined ? undefined : new StorageFaults(shared)
  const open = () => {
    // never write to a file that replaced this one
    if (!isSameFile(identityOf(path), identity))
      throw Object.assign(new Error(`${path} was replaced`), { code: ownCodes.replaced })
    return new WritingConnection(path, faults)
  }
  const connection = new RecoveringConnection(open, !recover)
  const keeper = new LogKeeper(limits, () => faults?.freeBytes() ?? freeBytes(path))

  const reply = (answer?: WriterReply['answer']) => {
    const log = keeper.state(connection.current)
    port.postMessage((answer === undefined ? { log } : { log, answer }) satisfies WriterReply)
  }

  const attempt = (work: (writer: WritingConnection) => void) => {
    try {
      work(connection.ready())
      reply({})
    } catch (cause) {
      const failed = engineCode(cause)
      if (!refusals.has(failed)) connection.failed(failed)
      retry.refresh()
      reply({ failed, message: cause instanceof Error ? cause.message : '' })
    }
  }

  const checkpointIdle = () => {
    if (connection.current === undefined) return
    keeper.checkpointAbove(connection.current, idleGoalBytes)
    if (keeper.doCheckpointsFail) retry.refresh()
    reply()
  }
  const idle = setTimeout(checkpointIdle, idleCheckpointMs)
  const retry = setTimeout(() => {
    if (!connection.isLogClean) connection.tryClean()
    if (!connection.isLogClean) retry.refresh()
    if (keeper.doCheckpointsFail) checkpointIdle()
  }, retryMs)

  port.on('message', (message: ArrayBuffer | 'close') => {
    if (message === 'close') {
      clearTimeout(idle)
      clearTimeout(retry)
      connection.end()
      port.close()
      return
    }
    attempt((writer) => {
      keeper.makeRoom(writer, message.byteLength)
      connection.write(writer, message)
      writer.measure()
    })
    if (connection.current !== undefined) keeper.checkpointAbove(connection.current)
    idle.refresh()
  })
  attempt(() => {})
}

/** Free space for this user on the disk that holds `path`. */
function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

// writer-thread.ts, the only code that starts this file, passes WriterData
if (parentPort !== null) serve(parentPort, workerData as WriterData)
