import type { Buffer } from 'node:buffer'
import { StartError } from '../../errors.ts'
import { loadSealKey } from '../barrier/seal.ts'
import type { SealConfig } from '../barrier/seal-config.ts'
import { type SealCommands, unwrapKey } from './wrapped-key.ts'

/** Where a server finds its key. */
export type OwnKeySource = {
  /** GATEHOUSE_SEAL_KEY; takes precedence over the file. */
  readonly text: string | undefined
  readonly file: string
  readonly allowOpen: boolean
  readonly commands: SealCommands | undefined
}

/**
 * The key of a store that a server unseals by itself, which the caller must erase. Throws a StartError: 2 for shares.
 */
export async function ownKey(seal: SealConfig, { commands, ...source }: OwnKeySource): Promise<Buffer> {
  if (seal.type === 'shamir') throw new StartError(2, 'shares open this store')
  if (seal.type === 'static') return (await loadSealKey({ ...source, mayCreate: false })).key
  if (commands === undefined)
    throw new StartError(
      2,
      'GATEHOUSE_SEAL_UNWRAP_COMMAND: must be set, because a command wraps the seal key',
    )
  return await unwrapKey(commands, seal.wrapped)
}
