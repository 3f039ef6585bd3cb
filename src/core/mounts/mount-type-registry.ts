import type { LeaseBackend } from '../leases/lease-backend.ts'
import type { RenewalTerms } from '../tokens/renewal-terms.ts'
import type { Token } from '../tokens/token.ts'
import { fixedPlugin } from './fixed-types.ts'
import type { Mount, MountTable } from './mount.ts'
import type { MountType, MountTypeNames, Removal } from './mount-type.ts'

/**
 * The mount types of one server. Their names are known before the first store is filled; what they do is
 * added once the stores they use are open.
 */
export class MountTypeRegistry implements AsyncDisposable {
  readonly #offered: Record<MountTable, Map<string, string>> = { auth: new Map(), secret: new Map() }
  readonly #byPlugin = new Map<string, MountType>()

  constructor(declared: readonly MountTypeNames[]) {
    for (const { table, names } of declared)
      for (const name of names)
        if (fixedPlugin(table, name) === undefined) this.#offered[table].set(name, names[0])
  }

  /** Adds what a declared type does. */
  add(type: MountType): void {
    const [plugin] = type.names
    if (this.pluginOf(type.table, plugin) !== plugin) throw new Error(`mount type ${plugin} is not declared`)
    this.#byPlugin.set(plugin, type)
  }

  /** The plugin behind a type that may be mounted. */
  offeredPlugin(table: MountTable, type: string): string | undefined {
    return this.#offered[table].get(type)
  }

  /** The plugins that may be mounted, each once. */
  offeredPlugins(): { readonly table: MountTable; readonly plugin: string }[] {
    return (['secret', 'auth'] as const).flatMap((table) =>
      [...new Set(this.#offered[table].values())].map((plugin) => ({ table, plugin })),
    )
  }

  /** The plugin behind any type that a stored mount may have. */
  pluginOf(table: MountTable, type: string): string | undefined {
    return this.offeredPlugin(table, type) ?? fixedPlugin(table, type)
  }

  leaseBackend(plugin: string): LeaseBackend | undefined {
    return this.#byPlugin.get(plugin)?.leases
  }

  async renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms> {
    const terms = await this.#byPlugin.get(mount.plugin)?.renewalTerms?.(token, mount)
    return terms ?? { ok: false, reason: 'unsupported path' }
  }

  async clear(mount: Mount, how: Removal): Promise<void> {
    await this.#byPlugin.get(mount.plugin)?.clear?.(mount, how)
  }

  async empty(mount: Mount): Promise<void> {
    await this.#byPlugin.get(mount.plugin)?.empty?.(mount)
  }

  start(): void {
    for (const type of this.#byPlugin.values()) type.start?.()
  }

  async settle(): Promise<void> {
    for (const type of this.#byPlugin.values()) await type.settle?.()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using types = new AsyncDisposableStack()
    for (const type of this.#byPlugin.values()) types.defer(async () => type[Symbol.asyncDispose]?.())
  }
}
