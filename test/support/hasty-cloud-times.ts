import { setTimeout as wait } from 'node:timers/promises'

/** Time passes twenty times as fast for whoever waits for the cloud. */
const haste = 20

/**
 * For a server with a real clock that sooner believes that something is gone upstream: a test does not wait ten
 * minutes. It looks this long for what it does not find by its id.
 */
export const hastyCloudTimes = (byId: number) => ({
  pause: async (milliseconds: number, signal?: AbortSignal) => {
    await wait(milliseconds / haste, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
  },
  patience: { byId, bySearch: byId + 700, byPurge: byId + 1_700 },
  poolTimes: { lookMs: 500 },
})
