import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountType, MountTypeNames } from '../../core/mounts/mount-type.ts'
import type { Core } from '../../core/open/core.ts'
import type { Resource, Spelling } from './resource.ts'

/**
 * A metric with a value for each mount. Mounts may share a label: then their values are combined. Gauges of several types
 * that have one name are one gauge.
 */
export type MountGauge = {
  /** Without `gatehouse_`. docs/monitoring.md#metrics */
  readonly name: string
  readonly help: string
  /** A second label, of parts of a mount, with a limited number of values. */
  readonly label?: string
  combine(one: number, other: number): number
  /** Called when metrics are collected. A mount without a value is left out. */
  read(): Promise<readonly MountReading[]>
}

/** `of`: the value of the second label. */
type MountReading = { readonly mount: Mount; readonly value: number | undefined; readonly of?: string }

/**
 * A mount type with what it serves at its mounts. Routes, the OpenAPI document, help and metrics are derived
 * from it. A plugin with the name of a fixed type adds to what those mounts serve.
 */
export type Plugin = MountType & {
  /** The purpose of its mounts, shown first in their help. */
  readonly help?: string
  /** The paths below its mounts. */
  readonly resources: readonly Resource[]
  readonly gauges?: readonly MountGauge[]
  /** Shows the counters of a mount before anything was counted. Called when metrics are collected. */
  beginCounters?(mount: Mount): void
  /** Ends waiting requests: the server is about to close. */
  onClosing?(): void
}

/** A plugin before the stores are open: the server lists one for each mount type. */
export type PluginDefinition = MountTypeNames &
  Pick<Plugin, 'help'> & { open(core: Core): Omit<Plugin, keyof MountTypeNames> }

/** Registers every mount type with Fastify; `routesOf` is the plugin that serves one. */
export type RegisterMountTypes = (
  app: FastifyInstance,
  routesOf: (type: PluginDefinition) => FastifyPluginCallback,
) => void

/** Opens the plugins over the core, and adds them to its mount types. */
export const openPlugins = (
  definitions: readonly PluginDefinition[],
  core: Core,
): ReadonlyMap<PluginDefinition, Plugin> =>
  new Map(
    definitions.map((definition) => {
      const { open, ...names } = definition
      const plugin = { ...names, ...open(core) }
      core.mountTypes.add({ ...plugin, spellingAt: (below) => spellingAt(plugin.resources, below) })
      return [definition, plugin]
    }),
  )

const spellingAt = (resources: readonly Resource[], below: string): Spelling['canonical'] | undefined =>
  resources.find(({ spelling }) => spelling?.pattern.test(`/${below}`) === true)?.spelling?.canonical
