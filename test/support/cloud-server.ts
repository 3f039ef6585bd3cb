import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { readConfig } from '../../src/config/config.ts'
import { openLog } from '../../src/log/log.ts'
import { startServer } from '../../src/server/server.ts'
import { type FailPoint, StorageFaults } from '../../src/storage/faults.ts'

/**
 * The server as `src/process/main.ts` runs it, which sooner believes that something is gone upstream: a test does not
 * wait ten minutes. At a signal SIGUSR2 it ends itself in the midst of a write that is to come: `KILL_FILE`
 * holds the fail point, and how many groups of writes pass it before; it is gone once that is armed. `PATIENCE_MS`: for how long it looks
 * for what it does not find by its id. With `HASTY_ROTATION` a root credential is replaced within seconds.
 */
const config = readConfig(process.env, { dev: false, warn: () => {} })
const rootToken = {
  keep: (token: string) => writeFileSync(config.rootTokenFile ?? '', token, { mode: 0o600 }),
  tell: () => {},
}
const faults = new StorageFaults()
const { KILL_FILE: killFile = '', PATIENCE_MS: patienceMs = '300' } = process.env
process.on('SIGUSR2', () => {
  const [point, skip] = readFileSync(killFile, 'utf8').split(' ')
  // the one who writes it knows the names
  faults.arm(point as FailPoint, 'kill', Number(skip))
  rmSync(killFile)
})
/** Time passes twenty times as fast for whoever waits for the cloud. */
const haste = 20
const cloudPause = async (milliseconds: number, signal?: AbortSignal) => {
  await wait(milliseconds / haste, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
}
const byId = Number(patienceMs)
const hastyRotation = {
  lookMs: 200,
  checkAgainMs: 300,
  rotateAgainMs: 1_000,
  leastAgeMs: 500,
  givenUpMs: 10_000,
  overlapMs: 2_000,
}
const cloudTimes = {
  pause: cloudPause,
  patience: { byId, bySearch: byId + 700, byPurge: byId + 1_700 },
  poolTimes: { lookMs: 500 },
  ...(process.env['HASTY_ROTATION'] === undefined ? {} : { rotationTimes: hastyRotation }),
}
const log = await openLog(config)
await using server = await startServer(config, { log, rootToken, faults, cloudTimes })
log.info({ event: 'started', address: server.url }, 'started')
await once(process, 'SIGTERM')
