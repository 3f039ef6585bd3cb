import type { JsonValue } from '../../lib/text/json.ts'
import type { LeaseBackend } from '../leases/lease-backend.ts'
import type { Token } from '../tokens/store/token.ts'
import type { RenewalTerms } from '../tokens/store/token-fields.ts'
import { fixedPlugin } from './fixed-types.ts'
import type { Mount, MountOptions, MountTable } from './mount.ts'
import type {
  IdentityTokenUse,
  MountType,
  MountTypeNames,
  MountVersions,
  PresentedJwt,
  Removal,
  TokenLogin,
} from './mount-type.ts'

/**
 * The mount types of one server. Types are declared before the stores open, and implementations are added
 * once the stores that they use are open.
 */
export class MountTypeRegistry implements AsyncDisposable {
  readonly #offered: Record<MountTable, Map<string, string>> = { auth: new Map(), secret: new Map() }
  readonly #types: MountType[] = []
  readonly #declared: readonly MountTypeNames[]

  constructor(declared: readonly MountTypeNames[]) {
    this.#declared = declared
    for (const { table, names } of declared) {
      if (fixedPlugin(table, names[0]) !== undefined) continue
      for (const name of names) {
        if (this.#pluginNamed(table, name) !== undefined)
          throw new Error(`mount type ${name} is declared twice`)
        this.#offered[table].set(name, names[0])
      }
    }
  }

  add(type: MountType): void {
    const [plugin] = type.names
    if (this.#pluginNamed(type.table, plugin) !== plugin)
      throw new Error(`mount type ${plugin} is not declared`)
    this.#types.push(type)
  }

  offeredPlugin(table: MountTable, type: string): string | undefined {
    return this.#offered[table].get(type)
  }

  /** The type names that clients may mount. */
  offeredTypes(table: MountTable): string[] {
    return [...this.#offered[table].keys()]
  }

  /** The plugins that clients may mount, each once. */
  offeredPlugins(): { readonly table: MountTable; readonly plugin: string }[] {
    return (['secret', 'auth'] as const).flatMap((table) =>
      [...new Set(this.#offered[table].values())].map((plugin) => ({ table, plugin })),
    )
  }

  /** The plugin behind any type that a stored mount may have. */
  pluginOf(table: MountTable, type: string, options: MountOptions = null): string | undefined {
    return this.versionsOf(table, type)?.pluginOf(options) ?? this.#pluginNamed(table, type)
  }

  /** The description of a mount of this type at the first start. */
  firstDescription(table: MountTable, type: string): string {
    return this.#declarationOf(table, type)?.firstDescription ?? ''
  }

  /** What a version means for this type; undefined if it has none. */
  versionsOf(table: MountTable, type: string): MountVersions | undefined {
    return this.#declarationOf(table, type)?.versions
  }

  locksUsers(type: string): boolean {
    return this.#declared.some(
      ({ table, names, locksUsers }) => table === 'auth' && locksUsers === true && names.includes(type),
    )
  }

  /** Whether the mounts of a plugin prove themselves with identity tokens. */
  hasIdentityTokens(plugin: string): boolean {
    return this.#declared.some(
      ({ names, hasIdentityTokens }) => names[0] === plugin && hasIdentityTokens === true,
    )
  }

  /** The identity tokens that a mount needs now. */
  async identityTokenUses(mount: Mount): Promise<IdentityTokenUse[]> {
    const uses: IdentityTokenUse[] = []
    for (const type of this.#of(mount.plugin)) uses.push(...((await type.identityTokenUses?.(mount)) ?? []))
    return uses
  }

  /** The prefixes of the records that are used once in the mounts of a plugin. */
  usedOnce(plugin: string): readonly string[] {
    return this.#declared.flatMap(({ names, usedOnce = [] }) => (names[0] === plugin ? usedOnce : []))
  }

  /** For a path below a mount of a plugin whose name has several spellings: what makes them one. */
  spellingAt(plugin: string, below: string): ((below: string) => string) | undefined {
    for (const type of this.#of(plugin)) {
      const spelling = type.spellingAt?.(below)
      if (spelling !== undefined) return spelling
    }
    return undefined
  }

  leaseBackend(plugin: string): LeaseBackend | undefined {
    return this.#of(plugin).find(({ leases }) => leases !== undefined)?.leases
  }

  async renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms> {
    for (const type of this.#of(mount.plugin))
      if (type.renewalTerms !== undefined) return type.renewalTerms(token, mount)
    return { ok: false, reason: 'unsupported path' }
  }

  /** Whether logins of a plugin name a role. */
  hasLoginRoles(plugin: string): boolean {
    return this.#of(plugin).some(({ loginRole }) => loginRole !== undefined)
  }

  /** The role of a login with these fields; empty for none. */
  async loginRole(mount: Mount, fields: Readonly<Record<string, JsonValue>>): Promise<string> {
    for (const type of this.#of(mount.plugin))
      if (type.loginRole !== undefined) return type.loginRole(mount, fields)
    return ''
  }

  /** The login that this JWT means at the mount of a namespace that takes it as a token. */
  async tokenLogin(namespace: string, presented: PresentedJwt): Promise<TokenLogin | undefined> {
    for (const type of this.#types) {
      const login = await type.tokenLogin?.(namespace, presented)
      if (login !== undefined) return login
    }
    return undefined
  }

  async clear(mount: Mount, how: Removal): Promise<void> {
    for (const type of this.#of(mount.plugin)) await type.clear?.(mount, how)
  }

  async empty(mount: Mount): Promise<void> {
    for (const type of this.#of(mount.plugin)) await type.empty?.(mount)
  }

  /** Tells the plugin of a mount that a tune has changed its options, or the type of its tokens. Returns warnings for the caller. */
  async tuned(before: Mount, now: Mount): Promise<readonly string[]> {
    const warnings: string[] = []
    for (const type of this.#of(now.plugin)) warnings.push(...((await type.tuned?.(before, now)) ?? []))
    return warnings
  }

  start(): void {
    for (const type of this.#types) type.start?.()
  }

  async settle(): Promise<void> {
    for (const type of this.#types) await type.settle?.()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using types = new AsyncDisposableStack()
    for (const type of this.#types) types.defer(async () => type[Symbol.asyncDispose]?.())
  }

  /** Whatever the version. */
  #pluginNamed(table: MountTable, type: string): string | undefined {
    return this.offeredPlugin(table, type) ?? fixedPlugin(table, type)
  }

  #declarationOf(table: MountTable, type: string): MountTypeNames | undefined {
    return this.#declared.find((one) => one.table === table && one.names.includes(type))
  }

  /** Several plugins may extend one fixed type. */
  #of(plugin: string): MountType[] {
    return this.#types.filter(({ names }) => names[0] === plugin)
  }
}
