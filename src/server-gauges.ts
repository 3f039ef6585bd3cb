import type { Core } from './core/core.ts'
import type { Http } from './http/http.ts'
import type { Plugin } from './http/plugin.ts'
import { MachineClock } from './lib/clock.ts'
import type { ReadGauge } from './metrics/instruments.ts'
import type { Metrics } from './metrics/metrics.ts'
import { mountGauge } from './metrics/mount-gauges.ts'
import { serverGauges } from './metrics/server-gauges.ts'
import type { NodeState } from './plugins/sys/plugin.ts'
import type { SqliteStorage } from './storage/sqlite.ts'

export type GaugeParts = {
  readonly core: Core
  readonly plugins: readonly Plugin[]
  readonly http: Http
  readonly storage: SqliteStorage
  readonly node: NodeState
  readonly metrics: Pick<Metrics, 'mountLabel'>
}

/** The gauges of a server: its own, and those of its plugins. */
export function gauges({ core, plugins, http, storage, node, metrics }: GaugeParts): ReadGauge[] {
  const { clock, counts, barrier } = core
  const own = serverGauges({
    version: node.gatehouseVersion,
    storageType: node.storageType,
    isSealed: () => barrier.isSealed(),
    isStorageUp: () => node.isStorageUp(),
    storageSize: () => storage.size(),
    barrierTerm: () => barrier.keyStatus().term,
    clockOffset: () => (clock instanceof MachineClock ? clock.offset() / 1000 : 0),
    inFlight: () => http.pipeline.inFlight,
    connections: () => connectionsOf(http),
    serviceTokens: () => counts.serviceTokens.total(),
    entities: () => counts.entities.total(),
  })
  const ofPlugins = plugins.flatMap((plugin) =>
    (plugin.gauges ?? []).map(({ read, ...gauge }) =>
      mountGauge({
        ...gauge,
        read: async () =>
          (await read()).map(({ mount, value }) => ({
            label: metrics.mountLabel(core.fullPathOf(mount)),
            value,
          })),
      }),
    ),
  )
  return [...own, ...ofPlugins]
}

const connectionsOf = ({ app }: Http): Promise<number> =>
  new Promise((settle, reject) =>
    app.server.getConnections((error, count) => (error === null ? settle(count) : reject(error))),
  )
