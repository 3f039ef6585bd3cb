import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readConfig } from '../../src/config/config.ts'
import { openLog } from '../../src/log/log.ts'
import { startServer } from '../../src/server/server.ts'
import { hastyCloudTimes } from './hasty-cloud-times.ts'

/**
 * The server as `src/process/main.ts` runs it, for which time in the cloud passes quickly. `PATIENCE_MS`: for how long
 * it looks for what it does not find by its id. With `HASTY_ROTATION` a root credential is replaced within seconds.
 */
const config = readConfig(process.env, { dev: false, warn: () => {} })
const rootToken = {
  keep: (token: string) => writeFileSync(config.rootTokenFile ?? '', token, { mode: 0o600 }),
  tell: () => {},
}
const hastyRotation = {
  lookMs: 200,
  checkAgainMs: 300,
  rotateAgainMs: 1_000,
  leastAgeMs: 500,
  givenUpMs: 10_000,
  overlapMs: 2_000,
}
const cloudTimes = {
  ...hastyCloudTimes(Number(process.env['PATIENCE_MS'] ?? '300')),
  ...(process.env['HASTY_ROTATION'] === undefined ? {} : { rotationTimes: hastyRotation }),
}
const log = await openLog(config)
await using server = await startServer(config, { log, rootToken, cloudTimes })
log.info({ event: 'started', address: server.url }, 'started')
await once(process, 'SIGTERM')
