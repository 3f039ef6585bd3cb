import { statfsSync } from 'node:fs'
import type { Channel } from '../../lib/concurrency/channel.ts'
import { answerFromThread } from '../../lib/concurrency/thread-worker.ts'
import { StorageFaults } from '../faults.ts'
import { type FileIdentity, identityOf, isSameFile } from '../file-watch.ts'
import { engineCode, ownCodes } from '../storage-error.ts'
import { LogKeeper, type LogLimits, type LogState } from './log-keeper.ts'
import { RecoveringConnection, WritingConnection } from './writing-connection.ts'

export type WriterData = LogLimits & {
  path: string
  identity: FileIdentity
  faults: SharedArrayBuffer | undefined
  /** True if the previous thread ended during a group, so that the log must be cleaned first. */
  recover: boolean
}

/** The outcome of the opening, or of a group: with a code if it failed. */
export type WriterReply = { log: LogState; failed?: string; message?: string }

/** What the thread tells while nothing is written. */
export type WriterNews = { log(state: LogState): void }

const idleCheckpointMs = 200
const idleGoalBytes = 256 * 1024
const retryMs = 1_000
/** Failures that occur before anything is written. */
const refusals: ReadonlySet<string> = new Set([ownCodes.logFull, ownCodes.damaged])

/** Commits one group per question: answers first, then checkpoints if needed. */
function answersWith(
  { path, identity, faults: shared, recover, ...limits }: WriterData,
  tell: Channel<WriterNews>['tell'],
) {
  const faults = shared === undefined ? undefined : new StorageFaults(shared)
  const open = () => {
    // never write to a file that replaced this one
    if (!isSameFile(identityOf(path), identity))
      throw Object.assign(new Error(`${path} was replaced`), { code: ownCodes.replaced })
    return new WritingConnection(path, faults)
  }
  const connection = new RecoveringConnection(open, !recover)
  const keeper = new LogKeeper(limits, () => faults?.freeBytes() ?? freeBytes(path))

  const attempt = (work: (writer: WritingConnection) => void): WriterReply => {
    try {
      work(connection.ready())
      return { log: keeper.state(connection.current) }
    } catch (cause) {
      const failed = engineCode(cause)
      if (!refusals.has(failed)) connection.failed(failed)
      retry.refresh()
      const message = cause instanceof Error ? cause.message : ''
      return { log: keeper.state(connection.current), failed, message }
    }
  }

  const checkpointIdle = () => {
    if (connection.current === undefined) return
    keeper.checkpointAbove(connection.current, idleGoalBytes)
    if (keeper.doCheckpointsFail) retry.refresh()
    tell('log', keeper.state(connection.current))
  }
  const idle = setTimeout(checkpointIdle, idleCheckpointMs)
  const retry = setTimeout(() => {
    if (!connection.isLogClean) connection.tryClean()
    if (!connection.isLogClean) retry.refresh()
    if (keeper.doCheckpointsFail) checkpointIdle()
  }, retryMs)

  const checkpointSoon = () => {
    if (connection.current !== undefined) keeper.checkpointAbove(connection.current)
    idle.refresh()
  }

  return {
    open: () => attempt(() => {}),
    commit: (rows: ArrayBuffer) => {
      const reply = attempt((writer) => {
        keeper.makeRoom(writer, rows.byteLength)
        connection.write(writer, rows)
        writer.measure()
      })
      // after the answer
      setImmediate(checkpointSoon)
      return reply
    },
    stop: () => {
      clearTimeout(idle)
      clearTimeout(retry)
      connection.end()
    },
  }
}

export type WriterAnswers = ReturnType<typeof answersWith>

/** Free space for this user on the disk that holds `path`. */
function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

answerFromThread<WriterData, WriterNews>(answersWith)
