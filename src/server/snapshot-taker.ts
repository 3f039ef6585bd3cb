import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresConnection } from '../config/connections.ts'
import type { Config } from '../config/settings.ts'
import type { Clock } from '../lib/system/clock.ts'
import { type Snapshot, Snapshots } from '../storage/copies/snapshots.ts'
import { gatehouseVersion } from '../version.ts'

/** Makes backups of the server's database; undefined if its storage is in memory. */
export function snapshotTaker(
  config: Config,
  clock: Clock,
): ((clusterId: string, signal: AbortSignal) => Promise<Snapshot>) | undefined {
  const { storage, seal } = config
  const source = storage.kind === 'sqlite' ? storage.path : postgresConnection(config)
  if (source === undefined) return undefined
  const target =
    typeof source === 'string' ? `${source}.snapshot` : join(tmpdir(), `gatehouse-${crypto.randomUUID()}`)
  const snapshots = new Snapshots({ source, target })
  return (cluster_id, signal) => {
    const created_time = new Date(clock.now()).toISOString()
    return snapshots.take(
      { product_version: gatehouseVersion, cluster_id, created_time, seal_type: seal },
      signal,
    )
  }
}
