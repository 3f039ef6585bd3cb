import type { StorageEvents } from '../storage-events.ts'
import type { LogState } from './log-keeper.ts'

/** The log is unusually large from this multiple of its goal. */
const unusualGoals = 16

/** Returns a function that takes successive states of the log and emits events about their changes. */
export function watchLog(events: StorageEvents, logGoalBytes: number): (log: LogState) => void {
  let failures = 0
  let failure: string | undefined
  let reportedBytes: number | undefined
  return ({ logBytes, failedCheckpoints, checkpointFailure }) => {
    // a new thread starts counting at 0
    const known = failedCheckpoints < failures ? 0 : failures
    for (let count = known; count < failedCheckpoints; count++) {
      events.failed({ kind: 'checkpoint', cause: new Error(`a checkpoint failed with ${checkpointFailure}`) })
    }
    failures = failedCheckpoints
    if (checkpointFailure !== failure) events.checkpointsFail(checkpointFailure)
    failure = checkpointFailure
    const isUnusual = logBytes >= unusualGoals * logGoalBytes
    if (isUnusual && logBytes >= 2 * (reportedBytes ?? 0)) {
      reportedBytes = logBytes
      events.logGrows(logBytes)
    }
    if (!isUnusual && reportedBytes !== undefined) {
      reportedBytes = undefined
      events.logGrows(undefined)
    }
  }
}
