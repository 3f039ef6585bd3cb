import { type Migration, migrateSeal } from '../../src/commands/seal-migrate.ts'
import { settingsOf } from '../../src/commands/stored-database.ts'
import { type FailPoint, StorageFaults } from '../../src/storage/faults.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'

// Migrates the seal of a store, with the settings of a server, and is killed when it commits.
// Arguments: the database, the migration as JSON, the point.
const [path = '', migration = '', point = ''] = process.argv.slice(2)
const faults = new StorageFaults()
await using storage = await openSqlite({ path, faults })
// the caller passes the name of a fail point
faults.arm(point as FailPoint, 'kill', 1)
await migrateSeal(settingsOf(process.env), storage, JSON.parse(migration) as Migration)
