import type { ViewEntry } from '../../../core/barrier/view.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import type { MountStore } from '../../../core/mounts/mount-store.ts'
import { ifReadable } from '../../../core/records/stored-record.ts'
import { refuse } from '../../../errors.ts'
import { Cache } from '../../../lib/data/cache.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import type { Config } from './jwt-config.ts'

export type TokenIssuersParts = {
  readonly mounts: Pick<MountStore, 'table' | 'onChange' | 'beforeChange' | 'whileUnchanged'>
  /** The configuration of a mount, as this server knows it. */
  knownConfig(mount: Mount): Promise<Config | undefined>
  /** The configuration of a mount as it is stored now. */
  storedConfig(mount: Mount): Promise<Config | undefined>
}

/** In a namespace, at most one mount takes the JWTs of an issuer as tokens. docs/contract/inline-login.md#settings */
export class TokenIssuers {
  readonly #parts: TokenIssuersParts
  /** For each namespace: by issuer the UUID of the mount. */
  readonly #accepting = new Cache<ReadonlyMap<string, string>>({ name: 'issuers of tokens', most: 1_000 })

  constructor(parts: TokenIssuersParts) {
    this.#parts = parts
    parts.mounts.beforeChange((mount) => this.#checkMove(mount))
    parts.mounts.onChange(({ changed, removed }) => {
      for (const { namespace } of [...changed, ...removed]) this.#accepting.drop(namespace)
    })
  }

  /** Call it after each write of the mount's configuration. */
  outdate({ uuid, namespace }: Mount): void {
    this.#accepting.drop(this.#parts.mounts.table.byUuid(uuid)?.namespace ?? namespace)
  }

  /** The mount of a namespace that takes the JWTs of an issuer; without a look at each mount for each request. */
  async find(namespace: string, issuer: string): Promise<Mount | undefined> {
    const { mounts } = this.#parts
    const known = await this.#accepting.readShared(namespace, () => this.#load(namespace))
    const mount = mounts.table.byUuid(known.get(issuer) ?? '')
    return mount?.namespace === namespace && !mount.tainted ? mount : undefined
  }

  async #load(namespace: string): Promise<ReadonlyMap<string, string>> {
    const { mounts, knownConfig } = this.#parts
    const uuids = new Map<string, string>()
    for (const mount of mounts.table.of(namespace)) {
      // one that cannot be read must not keep the other mounts from taking JWTs
      const config = isOurs(mount) ? await ifReadable(knownConfig(mount)) : undefined
      if (config?.accept_as_token === true) uuids.set(config.bound_issuer, mount.uuid)
    }
    return uuids
  }

  /**
   * Writes the entry of a configuration that takes the JWTs of this issuer, unless another mount does already: no
   * server makes or moves a mount, or writes another such configuration, meanwhile. `entryOf` may be called again.
   * Throws `invalid`.
   */
  put(mount: Mount, issuer: string, entryOf: () => Promise<ViewEntry>): Promise<void> {
    return this.#parts.mounts.whileUnchanged(async (write) => {
      await this.checkIsOnly(mount, issuer)
      await write([await entryOf()])
    })
  }

  /** Throws `invalid` if a mount that moves to another namespace takes the JWTs of an issuer that another one takes there. */
  async #checkMove(mount: Mount): Promise<void> {
    const { mounts, storedConfig } = this.#parts
    const before = mounts.table.byUuid(mount.uuid)
    if (!isOurs(mount) || before === undefined || before.namespace === mount.namespace) return
    const config = await storedConfig(before)
    if (config?.accept_as_token === true) await this.checkIsOnly(mount, config.bound_issuer)
  }

  /** Throws `invalid` if another mount of the namespace takes the JWTs of this issuer. */
  async checkIsOnly(mount: Mount, issuer: string): Promise<void> {
    const { mounts, storedConfig } = this.#parts
    for (const other of mounts.table.of(mount.namespace)) {
      if (!isOurs(other) || other.uuid === mount.uuid) continue
      const config = await storedConfig(other)
      if (config?.accept_as_token === true && config.bound_issuer === issuer)
        throw refuse(
          'invalid',
          `tokens of issuer ${quoted(issuer)} are accepted by mount ${quoted(other.path)} already`,
        )
    }
  }
}

const isOurs = ({ plugin, tainted }: Mount): boolean => plugin === 'jwt' && !tainted
