import type { LogState } from './log-keeper.ts'
import type { StorageEvents } from './storage-events.ts'

/** So many times its goal, the log is worth a line. */
const unusualGoals = 16

/** Makes events out of one state of the log after the other. */
export function watchLog(events: StorageEvents, logGoalBytes: number): (log: LogState) => void {
  let failures = 0
  let failure: string | undefined
  let grownTo: number | undefined
  return ({ logBytes, failedCheckpoints, checkpointFailure }) => {
    // a new thread counts from the beginning
    const known = failedCheckpoints < failures ? 0 : failures
    for (let count = known; count < failedCheckpoints; count++) {
      events.failed({ kind: 'checkpoint', cause: new Error(`a checkpoint failed with ${checkpointFailure}`) })
    }
    failures = failedCheckpoints
    if (checkpointFailure !== failure) events.checkpointsFail(checkpointFailure)
    failure = checkpointFailure
    const isUnusual = logBytes >= unusualGoals * logGoalBytes
    if (isUnusual && logBytes >= 2 * (grownTo ?? 0)) {
      grownTo = logBytes
      events.logGrows(logBytes)
    }
    if (!isUnusual && grownTo !== undefined) {
      grownTo = undefined
      events.logGrows(undefined)
    }
  }
}
