import type { Config } from './config.ts'
import type { Clock } from './lib/clock.ts'
import { type Snapshot, Snapshots } from './storage/snapshots.ts'
import { gatehouseVersion } from './version.ts'

/** Makes backups of the server's database; undefined if its storage is no file. */
export function snapshotTaker(
  { storage, seal }: Config,
  clock: Clock,
): ((clusterId: string, signal: AbortSignal) => Promise<Snapshot>) | undefined {
  if (storage.kind !== 'sqlite') return undefined
  const snapshots = new Snapshots(storage.path)
  return (cluster_id, signal) => {
    const created_time = new Date(clock.now()).toISOString()
    return snapshots.take(
      { product_version: gatehouseVersion, cluster_id, created_time, seal_type: seal },
      signal,
    )
  }
}
