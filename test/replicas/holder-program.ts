import { Jobs } from '../../src/core/jobs/jobs.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'

// Does the job `sweep` over the database of its first argument. At each message it writes the text as the record
// `done` for the job, even if it has noticed that it lost the job, and sends what became of the write.
const shared = await openPostgresAt(process.argv[2] ?? '', { replicaName: 'holder' })
const ignore = () => {}
const log = { info: ignore, warn: ignore, error: ignore }
const jobs = new Jobs({ shared, clock: new FakeClock(), log })
jobs.job('sweep').begin(async (held) => {
  process.on('message', async (text) => {
    const written = held.run(() => shared.write([{ key: 'done', value: Buffer.from(String(text)) }]))
    process.send?.(
      await written.then(
        () => 'written',
        (error: unknown) => String(error),
      ),
    )
  })
  process.send?.('taken')
  await new Promise(ignore)
})
