import { backUp } from '../../src/storage/copies/backup.ts'
import { restoreBackup } from '../../src/storage/copies/restore.ts'
import { type FailPoint, StorageFaults } from '../../src/storage/faults.ts'

/** Makes or restores a backup, and is killed at its last step: `backup` or `restore`, the database, the backup. */
const [, , what, path = '', backup = ''] = process.argv
const faults = new StorageFaults()
const point: FailPoint = what === 'backup' ? 'backup.before-rename' : 'restore.before-rename'
faults.arm(point, 'kill')
const given = { product_version: '1.0.0', cluster_id: 'c', created_time: 'now', seal_type: 'static' }
const note = { key: 'note', value: Buffer.from('{}') }
if (what === 'backup') await backUp(backup, { source: path, given }, faults)
else await restoreBackup({ backup, path, faults, force: true, stamp: 'killed', noteOf: () => note })
