import { createHash, timingSafeEqual } from 'node:crypto'
import { refuse } from '../../errors.ts'
import type { BatchEntry, Storage } from '../../storage/storage.ts'
import type { Barrier } from '../barrier/barrier.ts'
import {
  readSealConfig,
  type SealConfig,
  type SealRevision,
  type ShareCounts,
  sealConfigRecord,
  sealConfigRevision,
} from '../barrier/seal-config.ts'
import type { View, ViewEntry } from '../barrier/view.ts'

/** PGP messages with the shares of a key, in hexadecimal, by the fingerprints of their readers. */
export type ShareBackup = {
  readonly nonce: string
  readonly keys: Readonly<Record<string, readonly string[]>>
}

type NewKey = {
  readonly key: Buffer
  readonly counts: ShareCounts
  readonly backup: ShareBackup | undefined
  /** From before the present key was found to authorize this. */
  readonly expect: SealRevision
}

/** A key that people hold in shares. */
export type HeldKey = {
  /** The beginning of a refusal of its shares' number. */
  readonly planPrefix: string
  /** Undefined if nobody holds such a key yet. Throws a refusal if the seal of the store has none. */
  counts(): Promise<ShareCounts | undefined>
  matches(key: Buffer): Promise<boolean>
  revision(): Promise<SealRevision>
  /**
   * Replaces the key and, if there is a new one, the backup of its shares, in one write. False if another
   * server has replaced the key meanwhile.
   */
  replace(made: NewKey): Promise<boolean>
  backup(): Promise<ShareBackup | undefined>
  deleteBackup(): Promise<void>
}

export type HeldKeyParts = {
  readonly storage: Pick<Storage, 'get' | 'write'>
  readonly barrier: Pick<Barrier, 'opensRootKey' | 'rekey' | 'sealing'>
  /** The view of all storage. */
  readonly root: View
  onSealChanged(seal: SealConfig): void
}

/** The key that unseals a store with a shamir seal. docs/contract/seal.md#rekey */
export function unsealKey(parts: HeldKeyParts): HeldKey {
  const { storage, barrier } = parts
  return {
    planPrefix: 'invalid rekey seal configuration: ',
    counts: async () => {
      const seal = await readSealConfig(storage)
      if (seal.type === 'shamir') return seal
      throw refuse('invalid', `rekey is not available with seal type ${seal.type}`)
    },
    matches: (key) => barrier.opensRootKey(key),
    revision: () => sealConfigRevision(storage),
    replace: ({ key, counts: { shares, threshold }, backup, expect }) =>
      replace(
        parts,
        { seal: { type: 'shamir', shares, threshold }, expect },
        [...backups.unsealKey.entries(backup)],
        (records) => barrier.rekey(key, records),
      ),
    ...backups.unsealKey.over(parts.root),
  }
}

/** The key that authorizes ceremonies of a store whose server unseals itself. docs/contract/seal.md#recovery-keys */
export function recoveryKey(parts: HeldKeyParts): HeldKey {
  const { storage, root } = parts
  return {
    planPrefix: 'invalid recovery configuration: ',
    counts: async () => {
      const seal = await readSealConfig(storage)
      if (seal.type !== 'shamir') return seal.recovery
      throw refuse('invalid', 'recovery rekeying not supported')
    },
    matches: (key) => isRecoveryKey(root, key),
    revision: () => sealConfigRevision(storage),
    replace: async ({ key, counts: { shares, threshold }, backup, expect }) => {
      const seal = await readSealConfig(storage)
      if (seal.type === 'shamir') return false
      return await replace(
        parts,
        { seal: { ...seal, recovery: { shares, threshold } }, expect },
        [recoveryKeyEntry(key), ...backups.recoveryKey.entries(backup)],
        (records) => storage.write(records),
      )
    },
    ...backups.recoveryKey.over(root),
  }
}

/** Stores another configuration of the seal with what belongs to it. False if it was changed meanwhile. */
async function replace(
  { storage, barrier, onSealChanged }: HeldKeyParts,
  { seal, expect }: { seal: SealConfig; expect: SealRevision },
  entries: readonly ViewEntry[],
  write: (records: readonly BatchEntry[]) => Promise<boolean>,
): Promise<boolean> {
  const isWritten = await barrier.sealing(entries, (sealed) =>
    write([{ ...sealConfigRecord(seal), expect }, ...sealed]),
  )
  if (isWritten) onSealChanged(seal)
  else if ((await sealConfigRevision(storage)) === expect)
    throw refuse('unavailable', 'the root key was changed meanwhile')
  return isWritten
}

const backupAt = (key: string) => ({
  entries: (backup: ShareBackup | undefined): ViewEntry[] =>
    backup === undefined ? [] : [{ key, value: backup }],
  over: (root: View): Pick<HeldKey, 'backup' | 'deleteBackup'> => ({
    // `entries` is all that writes it
    backup: async () => (await root.get(key)) as ShareBackup | undefined,
    deleteBackup: async () => void (await root.write([{ key, value: undefined }])),
  }),
})

/** Removes what belongs to a seal of the other kind. */
export const withoutHeldKeys = (seal: SealConfig): ViewEntry[] =>
  (seal.type === 'shamir' ? [recoveryKeyKey, backupKeys.recoveryKey] : [backupKeys.unsealKey]).map((key) => ({
    key,
    value: undefined,
  }))

const backupKeys = { unsealKey: 'rekey-backup', recoveryKey: 'recovery-rekey-backup' }
const backups = { unsealKey: backupAt(backupKeys.unsealKey), recoveryKey: backupAt(backupKeys.recoveryKey) }

/**
 * Key of the record about the recovery key, which people hold in shares. It only authorizes, so its hash is
 * enough.
 */
const recoveryKeyKey = 'recovery-key'

const digestOf = (key: Uint8Array): Buffer => createHash('sha256').update(key).digest()

/** The record about a recovery key, in the view of all storage. */
export const recoveryKeyEntry = (key: Uint8Array): ViewEntry => ({
  key: recoveryKeyKey,
  value: { sha256: digestOf(key).toString('hex') },
})

/** Whether this is the recovery key. `root` is the view of all storage. */
async function isRecoveryKey(root: View, key: Uint8Array): Promise<boolean> {
  const record = await root.get(recoveryKeyKey)
  const stored = typeof record === 'object' && record !== null && 'sha256' in record ? record.sha256 : ''
  const digest = Buffer.from(String(stored), 'hex')
  const sent = digestOf(key)
  return digest.length === sent.length && timingSafeEqual(digest, sent)
}
