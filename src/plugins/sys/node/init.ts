import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { newKey } from '../../../core/barrier/root-key.ts'
import { type InitPlan, planInit } from '../../../core/seal/init-request.ts'
import { issueShares, type KeyPlan } from '../../../core/seal/key-plan.ts'
import { jsonAnswer, type NodeResource, nodeResource } from '../../../http/resource/node-resource.ts'
import type { Random } from '../../../lib/system/random.ts'
import type { JsonLimits } from '../../../lib/text/json.ts'
import { nodeAnswers } from '../answers/node-answers.ts'
import { readStruct } from '../answers/struct-body.ts'
import type { LifeCycle, NodeState } from './node-state.ts'

const counts = (key: string) => ({
  shares: z.int().optional().describe(`Number of shares of the ${key}`),
  threshold: z.int().optional().describe(`Number of shares that rebuild the ${key}`),
  pgpKeys: z
    .array(z.string())
    .optional()
    .describe(`PGP public keys in base64, one for each share of the ${key}, which encrypt them`),
})
const unsealKey = counts('unseal key, with a Shamir seal')
const recoveryKey = counts('recovery key, with a static seal')

const initBody = z.object({
  secret_shares: unsealKey.shares,
  secret_threshold: unsealKey.threshold,
  pgp_keys: unsealKey.pgpKeys,
  recovery_shares: recoveryKey.shares,
  recovery_threshold: recoveryKey.threshold,
  recovery_pgp_keys: recoveryKey.pgpKeys,
  root_token_pgp_key: z
    .string()
    .optional()
    .describe('PGP public key in base64, which encrypts the root token'),
})

export type InitParts = {
  readonly state: NodeState
  readonly jsonLimits: JsonLimits
  readonly random: Random
}

/** `sys/init`. docs/contract/seal.md#initialization */
export const initResource = ({ state, jsonLimits, random }: InitParts): NodeResource =>
  nodeResource('/sys/init', {
    verbs: ['GET', 'POST', 'PUT'],
    summary: 'Read whether the server is initialized, or initialize it',
    body: initBody,
    answer: nodeAnswers.init,
    handle: async ({ call, body }) => {
      if (call.verb === 'GET') return jsonAnswer(200, { initialized: state.isInitialized() })
      const plan = await planInit(readStruct(body, jsonLimits, 'InitRequest', initBody), {
        type: state.sealType,
        isInitialized: state.isInitialized(),
        now: state.now(),
      })
      return jsonAnswer(200, await initialize(state, plan, random))
    },
  })

/** Makes the keys, then creates the store, and returns what is told once. */
async function initialize(
  { life, sealType }: NodeState,
  { keyPlan, rootTokenKey }: InitPlan,
  random: Random,
): Promise<object> {
  const key = newKey(random)
  try {
    const issued = keyPlan === undefined ? noKeys : await issueShares(key, keyPlan)
    const rootToken = await create(life, sealType, keyPlan && { ...keyPlan, key })
    const told = rootTokenKey && (await rootTokenKey.encrypt(Buffer.from(rootToken))).toString('base64')
    const { keys, keysBase64 } = issued
    const root_token = told ?? rootToken
    if (sealType === 'shamir') return { keys, keys_base64: keysBase64, root_token }
    const recovery = keyPlan && { recovery_keys: keys, recovery_keys_base64: keysBase64 }
    return { keys: [], keys_base64: [], ...recovery, root_token }
  } finally {
    key.fill(0)
  }
}

const noKeys = { keys: [], keysBase64: [] }

function create(
  life: LifeCycle,
  type: NodeState['sealType'],
  held: (KeyPlan & { readonly key: Buffer }) | undefined,
): Promise<string> {
  if (held === undefined) return life.initialize({})
  const { shares, threshold, key } = held
  const counts = { shares, threshold }
  return life.initialize(type === 'shamir' ? { unseal: { counts, key } } : { recovery: { counts, key } })
}
