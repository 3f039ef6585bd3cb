import { statfsSync } from 'node:fs'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { StorageFaults } from './faults.ts'
import { type FileIdentity, identityOf, isSameFile } from './file-watch.ts'
import { LogKeeper, type LogLimits, type LogState } from './log-keeper.ts'
import { engineCode, ownCodes } from './storage-error.ts'
import { RecoveringConnection, WritingConnection } from './writing-connection.ts'

/** What the writing thread is started with. */
export type WriterData = LogLimits & {
  path: string
  /** Of the file at that path. */
  identity: FileIdentity
  faults: SharedArrayBuffer | undefined
  /** The thread before this one ended in the middle of a group: its log is cleaned first. */
  recover: boolean
}

/** `answer`: there is one after opening, and one a group. The state of the log comes by itself too. */
export type WriterReply = { log: LogState; answer?: { failed?: string; message?: string } }

const idleCheckpointMs = 200
const idleGoalBytes = 256 * 1024
const retryMs = 1_000
/** Nothing was tried. */
const refusals: ReadonlySet<string> = new Set([ownCodes.logFull, ownCodes.damaged])

/** Serves one group a message: answers, then tends to the log. */
function serve(port: MessagePort, { path, identity, faults: shared, recover, ...limits }: WriterData): void {
  const faults = shared === undefined ? undefined : new StorageFaults(shared)
  const open = () => {
    // another file must not get what belongs into this one
    if (!isSameFile(identityOf(path), identity))
      throw Object.assign(new Error(`${path} was replaced`), { code: ownCodes.replaced })
    return new WritingConnection(path, faults)
  }
  const connection = new RecoveringConnection(open, !recover)
  const keeper = new LogKeeper(limits, () => faults?.room() ?? freeBytes(path))

  const tell = (answer?: WriterReply['answer']) => {
    const log = keeper.state(connection.current)
    port.postMessage((answer === undefined ? { log } : { log, answer }) satisfies WriterReply)
  }

  const attempt = (work: (writer: WritingConnection) => void) => {
    try {
      work(connection.ready())
      tell({})
    } catch (cause) {
      const failed = engineCode(cause)
      if (!refusals.has(failed)) connection.failed(failed)
      retry.refresh()
      tell({ failed, message: cause instanceof Error ? cause.message : '' })
    }
  }

  const tendIdle = () => {
    if (connection.current === undefined) return
    keeper.tend(connection.current, idleGoalBytes)
    if (keeper.doCheckpointsFail) retry.refresh()
    tell()
  }
  const idle = setTimeout(tendIdle, idleCheckpointMs)
  const retry = setTimeout(() => {
    if (!connection.isLogClean) connection.tryClean()
    if (!connection.isLogClean) retry.refresh()
    if (keeper.doCheckpointsFail) tendIdle()
  }, retryMs)

  port.on('message', (message: ArrayBuffer | 'close') => {
    if (message === 'close') {
      clearTimeout(idle)
      clearTimeout(retry)
      connection.close()
      port.close()
      return
    }
    attempt((writer) => {
      keeper.makeRoom(writer, message.byteLength)
      connection.write(writer, message)
      writer.measure()
    })
    if (connection.current !== undefined) keeper.tend(connection.current)
    idle.refresh()
  })
  attempt(() => {})
}

/** What the server may still use of the disk that holds `path`. */
function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

// the one place that starts this file hands in WriterData
if (parentPort !== null) serve(parentPort, workerData as WriterData)
