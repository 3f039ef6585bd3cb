import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readConfig } from '../src/config/config.ts'
import { openLog } from '../src/log/log.ts'
import { startServer } from '../src/server/server.ts'
import { StorageFaults } from '../src/storage/faults.ts'

/** The server of `src/process/main.ts`, with commits that take `BENCH_COMMIT_DELAY_MS` longer. */
const config = readConfig(process.env, { dev: false, warn: () => {} })
const faults = new StorageFaults()
faults.delay('storage.before-commit', Number(process.env.BENCH_COMMIT_DELAY_MS ?? 0))
const rootToken = {
  keep: (token: string) => writeFileSync(config.rootTokenFile ?? '', token, { mode: 0o600 }),
  tell: () => {},
}
const log = await openLog(config)
await using server = await startServer(config, { log, rootToken, faults })
log.info({ event: 'started', address: server.url }, 'started')
await once(process, 'SIGTERM')
