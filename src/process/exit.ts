import { setImmediate as nextTurn } from 'node:timers/promises'
import { endProcess } from '../lib/system/end-process.ts'
import { closeLog, type Log } from '../log/log.ts'

export const exitCodes = { bug: 1, setting: 2, stopTimeout: 6 } as const

/** Time limit for writing the last lines of the log. */
const closeLogMs = 250

/** Ends the process with `process.exitCode`, after a short time for the last log lines. */
export async function exitNow(log: Log): Promise<never> {
  await closeLog(log, closeLogMs)
  // the last write of the log counts as a running system call until this turn of the event loop is over
  await nextTurn()
  // exit explicitly: a blocked log line would keep the process alive, and a signal during Node's cleanup
  // would change the exit status
  return endProcess()
}

export function limitStop(afterMs: number, log: Log): void {
  setTimeout(() => {
    process.exitCode = exitCodes.stopTimeout
    log.error(
      { event: 'stopped', exit_code: exitCodes.stopTimeout },
      'requests were still running after GATEHOUSE_STOP_TIMEOUT',
    )
    void exitNow(log)
  }, afterMs).unref()
}

/** Logs warnings and uncaught exceptions, which Node.js would print as plain text between the JSON lines. */
export function logProcessWarnings(log: Log): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) =>
    log.warn({ event: 'runtime_warning', type: warning.name }, warning.message),
  )
  process.on('uncaughtException', (error) => {
    process.exitCode = exitCodes.bug
    log.fatal({ event: 'stopped', exit_code: exitCodes.bug, err: error }, 'the server failed')
    void exitNow(log)
  })
}
