import { z } from 'zod'
import type { SealConfig, ShareCounts } from '../../../core/barrier/seal-config.ts'
import { rootNamespace } from '../../../core/namespaces/namespace.ts'
import type { Core } from '../../../core/open/core.ts'
import { checkLength, decodeShare } from '../../../core/seal/shares.ts'
import { refuse } from '../../../errors.ts'
import {
  type Answer,
  jsonAnswer,
  type NodeExchange,
  type NodeResource,
  nodeResource,
} from '../../../http/resource/node-resource.ts'
import { parseBool } from '../../../lib/text/go-numbers.ts'
import type { JsonLimits } from '../../../lib/text/json.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { nodeAnswers } from '../answers/node-answers.ts'
import { readStruct, type StructOf } from '../answers/struct-body.ts'

/** Keys that people will hold, with their numbers of shares. */
export type HeldKeys = {
  readonly unseal?: { readonly counts: ShareCounts; readonly key: Uint8Array }
  readonly recovery?: { readonly counts: ShareCounts; readonly key: Uint8Array }
}

export type LifeCycle = {
  /** How the store is sealed; undefined while it is not initialized. */
  readonly seal: SealConfig | undefined
  /** Undefined while the server is sealed. */
  readonly core: Core | undefined
  /**
   * Creates the store, and returns its root token. Without an unseal key, the key is the server's own, and the store
   * is opened if possible. Throws `invalid` if the store exists.
   */
  initialize(held: HeldKeys): Promise<string>
  /** The shares of the unseal key so far. */
  readonly unsealProgress: { readonly progress: number; readonly nonce: string }
  /**
   * Takes over a share of the unseal key, or the key that the server finds itself; the last share opens the store. No
   * effect on an open server. Throws `invalid` for wrong ones, which are forgotten then.
   */
  unseal(share: Buffer): Promise<void>
  resetUnseal(): void
  close(): Promise<void>
}

/** The state of this process as health checks and clients see it. */
export type NodeState = {
  readonly life: LifeCycle
  isInitialized(): boolean
  isSealed(): boolean
  /** `ready`, or the first reason why not. docs/operations.md#start-stop-restart */
  readiness(): Promise<
    'ready' | 'starting' | 'uninitialized' | 'sealed' | 'storage' | 'audit' | 'clock' | 'stopping'
  >
  isStorageUp(): Promise<boolean>
  /** Whether it could be read a moment ago, and nothing speaks against it since. */
  wasStorageUp(): boolean
  /** The Vault version that clients compare with. */
  readonly version: string
  readonly gatehouseVersion: string
  readonly storageType: string
  /** Parameter rules of policies compare values as a whole only. */
  readonly exactListMatching: boolean
  /** The seal of the store, or of the one to be created. */
  readonly sealType: SealConfig['type']
  now(): number
}

export type NodeStateParts = {
  state: NodeState
  /** Limits of bodies sent without a token. */
  jsonLimits: JsonLimits
  /** Throws unless the caller has `update` and `sudo` on the path. */
  checkSealer(exchange: NodeExchange): Promise<void>
}

/** Shown once the server is unsealed. */
function clusterOf({ life: { core } }: NodeState): object {
  if (core === undefined || core.barrier.isSealed()) return {}
  const { clusterId } = core
  return { cluster_name: `vault-cluster-${clusterId.slice(0, 8)}`, cluster_id: clusterId }
}
/** The windows of the root namespace that are in force, without their titles: anyone may ask. */
async function maintenanceOf({ life: { core } }: NodeState): Promise<object> {
  if (core === undefined || core.barrier.isSealed()) return {}
  const windows = await Promise.try(() => core.announcements.windowsOf(rootNamespace)).catch(() => [])
  if (windows.length === 0) return {}
  const shown = windows.map(({ effect, endsAt }) => ({
    effect,
    until: endsAt === undefined ? null : formatTime(endsAt),
  }))
  return { maintenance: shown }
}

const code = (what: string) => z.int().optional().describe(`Status to answer with ${what}`)
const healthQuery = z.object({
  activecode: code('when active (200)'),
  standbyok: z.boolean().optional().describe('Use activecode on a standby too'),
  standbycode: code('on a standby (429)'),
  sealedcode: code('when sealed (503)'),
  uninitcode: code('when not initialized (501)'),
  storagecode: code('when the storage is unavailable (503)'),
})
const unsealBody = z.object({
  key: z
    .string()
    .optional()
    .meta({
      description: 'Share of the seal key, as hex or base64',
      writeOnly: true,
      examples: ['00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'],
    }),
  reset: z.boolean().optional().describe('Discard the shares sent so far'),
})

/**
 * The node-level paths: no envelope, served while sealed; only sealing needs a token.
 * docs/operations.md#health, docs/operations.md#start-stop-restart
 */
export function nodeStateResources({ state, jsonLimits, checkSealer }: NodeStateParts): NodeResource[] {
  return [
    nodeResource('/health/live', {
      verbs: ['GET', 'HEAD'],
      summary: 'Is the process alive?',
      answer: nodeAnswers.live,
      handle: () => jsonAnswer(200, { status: 'live' }),
    }),
    nodeResource('/health/ready', {
      verbs: ['GET', 'HEAD'],
      summary: 'Are requests served?',
      answer: nodeAnswers.ready,
      handle: async () => {
        const status = await state.readiness()
        if (status === 'ready') return jsonAnswer(200, { status })
        return { ...jsonAnswer(503, { status }), headers: { 'retry-after': '1' } }
      },
    }),
    nodeResource('/sys/health', {
      verbs: ['GET', 'HEAD'],
      summary: 'Read the state of this node; the status code reflects it',
      query: healthQuery,
      answer: nodeAnswers.health,
      handle: ({ call }) => health(new URLSearchParams(call.query), state),
    }),
    nodeResource('/sys/seal-status', {
      verbs: ['GET'],
      summary: 'Is the server sealed?',
      answer: nodeAnswers.sealStatus,
      handle: () => jsonAnswer(200, sealStatus(state)),
    }),
    nodeResource('/sys/leader', {
      verbs: ['GET'],
      summary: 'Which node leads?',
      answer: nodeAnswers.leader,
      // there is no other node
      handle: () => jsonAnswer(200, nodeAnswers.leader.example),
    }),
    nodeResource('/sys/seal', {
      verbs: ['POST', 'PUT'],
      summary: 'Seal the server',
      answer: nodeAnswers.done,
      needs: 'sudo',
      audited: {
        entries: 'request',
        admit: (exchange) => (state.isSealed() ? undefined : checkSealer(exchange)),
      },
      handle: async () => {
        await state.life.close()
        return done
      },
    }),
    nodeResource('/sys/step-down', {
      verbs: ['POST', 'PUT'],
      summary: 'Step down as leader',
      answer: nodeAnswers.done,
      needs: 'sudo',
      // there is no other node to lead, so nobody's rights are checked
      audited: { entries: 'request', admit: () => {} },
      handle: () => done,
    }),
    nodeResource('/sys/unseal', {
      verbs: ['POST', 'PUT'],
      summary: 'Offer a share of the seal key',
      body: unsealBody,
      answer: nodeAnswers.sealStatus,
      handle: ({ body }) => unseal(readStruct(body, jsonLimits, 'UnsealRequest', unsealBody), state),
    }),
  ]
}

const done: Answer = { status: 204, contentType: 'application/json' }

async function health(query: URLSearchParams, state: NodeState): Promise<Answer> {
  const codes = { uninitcode: 501, sealedcode: 503, standbycode: 429, activecode: 200, storagecode: 503 }
  for (const name of Object.keys(codes) as (keyof typeof codes)[]) {
    const sent = query.get(name)
    if (sent === null) continue
    const code = /^[+-]?\d{1,9}$/.test(sent) ? Number(sent) : 0
    // only these are final status codes. RFC 9110 §15
    if (code < 200 || code > 599) return jsonAnswer(400, { errors: [] })
    codes[name] = code
  }
  const standbyOk = query.get('standbyok') ?? ''
  if (standbyOk !== '' && parseBool(standbyOk) === undefined) return jsonAnswer(400, { errors: [] })
  const open = state.isInitialized() && !state.isSealed()
  const isLost = open && !state.wasStorageUp() && !(await state.isStorageUp())
  const code = !state.isInitialized()
    ? codes.uninitcode
    : state.isSealed()
      ? codes.sealedcode
      : isLost
        ? codes.storagecode
        : codes.activecode
  return jsonAnswer(code, {
    ...nodeHealth(state, open),
    ...(isLost && { storage: 'unavailable' }),
    ...(await maintenanceOf(state)),
  })
}

const secondOf = (state: NodeState): number => Math.floor(state.now() / 1000)

function nodeHealth(state: NodeState, open: boolean): object {
  return {
    initialized: state.isInitialized(),
    sealed: !open,
    standby: !open,
    performance_standby: false,
    replication_performance_mode: open ? 'disabled' : 'unknown',
    replication_dr_mode: open ? 'disabled' : 'unknown',
    server_time_utc: secondOf(state),
    version: state.version,
    gatehouse_version: state.gatehouseVersion,
    enterprise: state.version.includes('ent'),
    ...clusterOf(state),
    ...(state.exactListMatching && { exact_list_matching: true }),
  }
}

function sealStatus(state: NodeState): object {
  const { shares, threshold } = shareCounts(state.life.seal)
  return {
    type: state.sealType,
    initialized: state.isInitialized(),
    sealed: state.isSealed(),
    t: threshold,
    n: shares,
    ...state.life.unsealProgress,
    version: state.version,
    build_date: '2026-01-01T00:00:00Z',
    commit_date: '2026-01-01T00:00:00Z',
    migration: false,
    ...clusterOf(state),
    recovery_seal: state.sealType !== 'shamir',
    storage_type: state.storageType,
  }
}

/** Of a static seal, those of the recovery keys. */
function shareCounts(seal: SealConfig | undefined): ShareCounts {
  const counts = seal?.type === 'shamir' ? seal : seal?.recovery
  return counts ?? { shares: 0, threshold: 0 }
}

/** Takes over a share; the last one unseals the server. docs/contract/seal.md#unseal */
async function unseal({ key, reset }: StructOf<typeof unsealBody>, state: NodeState): Promise<Answer> {
  if (reset) {
    if (!state.isSealed()) throw refuse('invalid', 'vault is unsealed')
    state.life.resetUnseal()
  } else {
    if (key === '')
      throw refuse('invalid', "'key' must be specified in request body as JSON, or 'reset' set to true")
    const share = decodeShare(key)
    if (!state.isInitialized()) throw refuse('invalid', 'Vault is not initialized')
    // an open server ignores what is sent
    if (state.isSealed()) checkLength(share, 'invalid key: ')
    await state.life.unseal(share)
  }
  return jsonAnswer(200, sealStatus(state))
}
