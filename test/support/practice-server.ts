import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readConfig } from '../../src/config/config.ts'
import { openLog } from '../../src/log/log.ts'
import { startServer } from '../../src/server/server.ts'
import { type FailPoint, StorageFaults } from '../../src/storage/faults.ts'
import { type PracticeRole, practiceType } from './practice-type.ts'

/**
 * The server as `src/process/main.ts` runs it, with the practice engine. `PRACTICE_PROVIDER` is its provider; without
 * one, credentials are made up. After SIGUSR2 it kills itself at the fail point `KILL_AT`.
 */
const config = readConfig(process.env, { dev: false, warn: () => {} })
const role = (ttl: number): PracticeRole => ({ ttl, maxTtl: 0, renewable: true })
const roles = new Map([
  ['ci', role(3600)],
  ['brief', role(1)],
])
const { PRACTICE_PROVIDER: providerUrl, KILL_AT: killAt } = process.env
const rootToken = {
  keep: (token: string) => writeFileSync(config.rootTokenFile ?? '', token, { mode: 0o600 }),
  tell: () => {},
}
const plugins = [practiceType(providerUrl === undefined ? { roles } : { providerUrl, roles })]
const log = await openLog(config)
const faults = new StorageFaults()
await using server = await startServer(config, { log, rootToken, plugins, faults })
// the program that sets it has checked the name
if (killAt !== undefined) process.on('SIGUSR2', () => faults.arm(killAt as FailPoint, 'kill'))
log.info({ event: 'started', address: server.url }, 'started')
await once(process, 'SIGTERM')
