import { MountTypeRegistry } from '../core/mounts/mount-type-registry.ts'
import type { Core } from '../core/open/core.ts'
import type { ApiDocument } from '../http/document/openapi.ts'
import { type Http, openHttp } from '../http/http.ts'
import { type HttpBase, httpParts } from '../http/http-parts.ts'
import {
  openPlugins,
  type Plugin,
  type PluginDefinition,
  type RegisterMountTypes,
} from '../http/resource/plugin.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { keepTime } from './clock-keeping.ts'
import { coreGauges } from './server-gauges.ts'

export type OpenServerParts = HttpBase & {
  readonly definitions: readonly PluginDefinition[]
  readonly document: ApiDocument
  readonly metrics: Metrics
  openCore(mountTypes: MountTypeRegistry): Promise<Core>
  readonly register: RegisterMountTypes
}

/** A server while it is not sealed. Disposing closes the core; `http` must be disposed before. */
export type OpenServer = AsyncDisposable & { readonly core: Core; readonly http: Http }

/** Opens the core, the plugins and what serves them, and starts the background jobs. Throws a StartError. */
export async function openServer({
  definitions,
  metrics,
  openCore,
  register,
  ...parts
}: OpenServerParts): Promise<OpenServer> {
  await using opened = new AsyncDisposableStack()
  const core = opened.use(await openCore(new MountTypeRegistry(definitions)))
  const pluginBy = openPlugins(definitions, core)
  const plugins = [...pluginBy.values()]
  const http = await openHttp({
    ...httpParts(core, plugins, parts),
    register: (app, routesOf) =>
      register(app, (definition) => routesOf(pluginBy.get(definition) ?? notOpened(definition))),
  })
  opened.use(metrics.add(coreGauges(core, plugins, metrics)))
  opened.use(metrics.follow(present(core, { plugins, metrics })))
  core.start()
  opened.use(await keepTime(core, metrics))
  const held = opened.move()
  return { core, http, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

function notOpened({ names: [name] }: PluginDefinition): never {
  throw new Error(`the mount type "${name}" was not opened`)
}

const present = (
  { mounts, fullPathOf, audit, jobs }: Core,
  { plugins, metrics }: { plugins: readonly Plugin[]; metrics: Metrics },
) => ({
  mounts: () => mounts.table.all().map(fullPathOf),
  devices: () => audit.log.devices.map(({ description }) => description.path),
  begin: () => {
    for (const { kind } of jobs.status()) metrics.beginJob(kind)
    for (const plugin of plugins)
      for (const mount of mounts.table.all())
        if (mount.plugin === plugin.names[0]) plugin.beginCounters?.(mount)
  },
})
