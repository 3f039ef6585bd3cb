import { fail } from '../../errors.ts'
import type { View } from '../barrier/view.ts'
import type { Random } from '../../lib/random.ts'
import { RecordCache } from '../record-cache.ts'
import { pauseAfterAttempt, writeAttempts } from '../stored-record.ts'
import type { KeyedMutex } from '../../lib/keyed-mutex.ts'
import { roleKey, roleOfKeyKey } from './issuer-keys.ts'
import { readNamedKey } from './named-key.ts'
import type { NamedKeyStore } from './named-key-store.ts'
import {
  changedRole,
  checkAgainstKey,
  type ReadyRole,
  readIdentityTokenRole,
  type SentIdentityTokenRole,
} from './identity-token-role.ts'

export type IdentityTokenRoleStoreParts = {
  /** The storage root, with plain numbers. */
  readonly view: View
  readonly random: Random
  /** Serializes changes to the keys and roles of a mount. */
  readonly mutex: KeyedMutex
  readonly keys: NamedKeyStore
  /** Called when the set of used keys of a mount may have changed. */
  onChange(mount: string): void
}

const cacheLimit = 10_000
const maxCachedText = 16_384

/**
 * Stores the roles of all issuers; `mount` is the UUID of an identity mount.
 * docs/contract/identity-tokens.md#roles
 */
export class IdentityTokenRoleStore {
  readonly #parts: IdentityTokenRoleStoreParts
  readonly #ready = new RecordCache<ReadyRole>(cacheLimit, maxCachedText)

  constructor(parts: IdentityTokenRoleStoreParts) {
    this.#parts = parts
  }

  find(mount: string, name: string): Promise<ReadyRole | undefined> {
    const at = roleKey(mount, name)
    return this.#ready.read(at, async () => {
      const value = await this.#parts.view.get(at)
      return value === undefined ? undefined : readIdentityTokenRole(value)
    })
  }

  /** Drops the copy of a record that has been written by any server; undefined: all copies. */
  follow(written: readonly string[] | undefined): void {
    this.#ready.follow(written)
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
  write(mount: string, name: string, sent: SentIdentityTokenRole): Promise<void> {
    const { view, keys, random } = this.#parts
    return this.#change(mount, name, async () => {
      const record = await view.read(roleKey(mount, name))
      const before = record === undefined ? undefined : readIdentityTokenRole(record.value).role
      const role = changedRole(before, sent, random)
      const key = await keys.stored(mount, role.key)
      checkAgainstKey(role, key === undefined ? undefined : readNamedKey(key.value))
      const moved = before !== undefined && before.key !== role.key
      return view.write([
        { key: roleKey(mount, name), value: role, expect: record?.revision ?? 'absent' },
        ...(key === undefined ? [] : [{ key: key.key, value: key.value, expect: key.revision }]),
        { key: roleOfKeyKey(mount, role.key, name), value: role.ttl },
        ...(moved ? [{ key: roleOfKeyKey(mount, before.key, name), value: undefined }] : []),
      ])
    })
  }

  /** Does nothing if the role does not exist. */
  remove(mount: string, name: string): Promise<void> {
    const { view } = this.#parts
    return this.#change(mount, name, async () => {
      const record = await view.read(roleKey(mount, name))
      if (record === undefined) return true
      const { role } = readIdentityTokenRole(record.value)
      return view.write([
        { key: roleKey(mount, name), value: undefined, expect: record.revision },
        { key: roleOfKeyKey(mount, role.key, name), value: undefined },
      ])
    })
  }

  /** Runs `change` again while it returns false, which means that it lost a race. */
  #change(mount: string, name: string, change: () => Promise<boolean>): Promise<void> {
    return this.#parts.mutex.runExclusive(mount, async () => {
      try {
        for (let attempt = 0; attempt < writeAttempts; attempt++) {
          if (await change()) return
          await pauseAfterAttempt(attempt)
        }
      } finally {
        this.#ready.drop(roleKey(mount, name))
        this.#parts.onChange(mount)
      }
      throw fail('unavailable', 'too many changes to one role at a time')
    })
  }
}
