import { fail } from '../../errors.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { View } from '../barrier/view.ts'
import type { Changes, Decide } from '../records/change.ts'
import {
  changedRole,
  checkAgainstKey,
  type ReadyRole,
  readIdentityTokenRole,
  type SentIdentityTokenRole,
} from './identity-token-role.ts'
import { roleKey, roleOfKeyKey } from './issuer-keys.ts'
import { defaultKeyName, readNamedKey } from './named-key.ts'
import type { NamedKeyStore } from './named-key-store.ts'

export type IdentityTokenRoleStoreParts = {
  /** The storage root, with plain numbers. */
  readonly view: View
  readonly random: Random
  /** By mount: of its roles and keys, which depend on each other. */
  readonly changes: Changes
  readonly keys: NamedKeyStore
  /** Called when the set of used keys of a mount may have changed. */
  onChange(mount: string): void
}

/**
 * Stores the roles of all issuers; `mount` is the UUID of an identity mount.
 * docs/contract/identity-tokens.md#roles
 */
export class IdentityTokenRoleStore {
  readonly #parts: IdentityTokenRoleStoreParts

  constructor(parts: IdentityTokenRoleStoreParts) {
    this.#parts = parts
  }

  /** The key of the record, from the root of the storage. */
  recordKey(mount: string, name: string): string {
    return roleKey(mount, name)
  }

  async find(mount: string, name: string): Promise<ReadyRole | undefined> {
    const value = await this.#parts.view.get(roleKey(mount, name))
    return value === undefined ? undefined : readIdentityTokenRole(value)
  }

  /** Sorted. */
  async names(mount: string): Promise<string[]> {
    const prefix = roleKey(mount, '')
    return (await this.#parts.view.listKeys(prefix)).map((key) => key.slice(prefix.length))
  }

  /**
   * Creates a role, or updates the given fields. The write also covers the role's key, so that a concurrent
   * deletion or change of the key makes it retry.
   */
  async write(mount: string, name: string, sent: SentIdentityTokenRole): Promise<void> {
    if (await this.#write(mount, name, sent)) return
    // outside of a change, so that no other role waits for its key pairs
    await this.#parts.keys.makeDefault(mount)
    if (!(await this.#write(mount, name, sent)))
      throw fail('unavailable', `key ${quoted(defaultKeyName)} is missing`)
  }

  /** False if the role needs the key `default`, which is missing. */
  #write(mount: string, name: string, sent: SentIdentityTokenRole): Promise<boolean> {
    const { view, keys, random } = this.#parts
    return this.#change(mount, async (write) => {
      const record = await view.read(roleKey(mount, name))
      const before = record === undefined ? undefined : readIdentityTokenRole(record.value).role
      const role = changedRole(before, sent, random)
      const key = await keys.stored(mount, role.key)
      if (key === undefined && role.key === defaultKeyName) return false
      checkAgainstKey(role, key === undefined ? undefined : readNamedKey(key.value))
      const moved = before !== undefined && before.key !== role.key
      await write([
        { key: roleKey(mount, name), value: role, expect: record?.revision ?? 'absent' },
        ...(key === undefined ? [] : [{ key: key.key, value: key.value, expect: key.revision }]),
        { key: roleOfKeyKey(mount, role.key, name), value: role.ttl },
        ...(moved ? [{ key: roleOfKeyKey(mount, before.key, name), value: undefined }] : []),
      ])
      return true
    })
  }

  /** Does nothing if the role does not exist. */
  remove(mount: string, name: string): Promise<void> {
    const { view } = this.#parts
    return this.#change(mount, async (write) => {
      const record = await view.read(roleKey(mount, name))
      if (record === undefined) return
      const { role } = readIdentityTokenRole(record.value)
      await write([
        { key: roleKey(mount, name), value: undefined, expect: record.revision },
        { key: roleOfKeyKey(mount, role.key, name), value: undefined },
      ])
    })
  }

  async #change<T>(mount: string, decide: Decide<T>): Promise<T> {
    try {
      return await this.#parts.changes.run(mount, decide)
    } finally {
      this.#parts.onChange(mount)
    }
  }
}
