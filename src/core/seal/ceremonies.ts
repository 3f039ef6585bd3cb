import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { readSealConfig, type SealConfig } from '../barrier/seal-config.ts'
import { corePrefix } from '../barrier/view.ts'
import type { CoreLog } from '../core-log.ts'
import { fixedPaths } from '../mounts/mount-path.ts'
import type { MountStore } from '../mounts/mount-store.ts'
import { createRootToken } from '../tokens/store/root-token.ts'
import type { TokenStore } from '../tokens/store/token-store.ts'
import { GenerateRoot } from './generate-root.ts'
import { type HeldKeyParts, recoveryKey, unsealKey } from './held-key.ts'
import { Rekey } from './rekey.ts'

export type CeremonyParts = Omit<HeldKeyParts, 'onSealChanged'> & {
  readonly tokens: TokenStore
  readonly mounts: MountStore
  readonly clock: Clock
  readonly random: Random
  readonly log: CoreLog
}

/** What the holders of a key do together. docs/contract/seal.md#ceremonies */
export function openCeremonies({ tokens, mounts, ...parts }: CeremonyParts) {
  const { storage, clock, random, log, root } = parts
  const listeners: ((seal: SealConfig) => void)[] = []
  const held = {
    ...parts,
    onSealChanged: (seal: SealConfig) => {
      for (const listener of listeners) listener(seal)
      const key = seal.type === 'shamir' ? 'unseal key' : 'recovery key'
      log.warn({ event: 'key_rotated' }, `the ${key} was replaced: its earlier shares are useless`)
    },
  }
  const unseal = unsealKey(held)
  const recovery = recoveryKey(held)
  const makeRootToken = async (encode: (id: string) => Promise<string>) => {
    const tokenMount = mounts.table.at('root', fixedPaths.token)
    if (tokenMount === undefined) throw new Error('the mount table has no token mount')
    const encoded = await createRootToken({ tokens, view: root.view(corePrefix), tokenMount }, encode)
    log.warn({ event: 'root_token_made' }, 'the holders of a key generated a root token')
    return encoded
  }
  using opened = new DisposableStack()
  const rekey = opened.use(new Rekey({ held: unseal, clock, random }))
  const recoveryRekey = opened.use(new Rekey({ held: recovery, clock, random }))
  const generateRoot = opened.use(
    new GenerateRoot({
      held: async () => ((await readSealConfig(storage)).type === 'shamir' ? unseal : recovery),
      makeRootToken,
      clock,
      random,
    }),
  )
  const ends = opened.move()
  return {
    /** How the store is sealed. */
    seal: () => readSealConfig(storage),
    rekey,
    recoveryRekey,
    generateRoot,
    /** Calls `listener` with each new configuration of the seal, once it is stored. */
    onSealChanged: (listener: (seal: SealConfig) => void) => void listeners.push(listener),
    [Symbol.dispose]: () => ends.dispose(),
  }
}
