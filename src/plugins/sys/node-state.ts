import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Call, callOf } from '../../http/call.ts'
import { readFields } from '../../http/body.ts'
import { errorBody } from '../../http/error-reply.ts'
import { sendJson } from '../../http/json-reply.ts'
import { carrierOf } from '../../http/mount-router.ts'
import { type DocumentedAnswer, helpOnly } from '../../http/resource.ts'
import { parseBool } from '../../lib/go/bool.ts'
import { jsonTypeName } from '../../lib/go/type-names.ts'
import type { JsonLimits, JsonValue } from '../../lib/json.ts'
import { nodeAnswers } from './node-answers.ts'

/** The state of this process as health checks and clients see it. */
export type NodeState = {
  isInitialized(): boolean
  isSealed(): boolean
  /** `ready`, or the first reason why not. docs/operations.md#start-stop-restart */
  readiness(): Promise<'ready' | 'starting' | 'sealed' | 'storage' | 'stopping'>
  /** Whether the storage can be read. */
  isStorageUp(): Promise<boolean>
  /** The Vault version that clients compare with. */
  readonly version: string
  /** The version of Gatehouse. */
  readonly gatehouseVersion: string
  readonly clusterId: string
  readonly storageType: string
  now(): number
}

export type NodeStateParts = {
  state: NodeState
  /** Limits of bodies sent without a token. */
  jsonLimits: JsonLimits
  /** Seals the server for a caller with `update` and `sudo` on the path; throws otherwise. */
  seal(request: FastifyRequest, call: Call): Promise<void>
  /** Throws unless the caller has `update` and `sudo` on the path. */
  stepDown(request: FastifyRequest, call: Call): Promise<void>
}

const clusterName = (state: NodeState) => `vault-cluster-${state.clusterId.slice(0, 8)}`
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
    .meta({ description: 'Share of the seal key, as hex or base64', writeOnly: true }),
  reset: z.boolean().optional().describe('Discard the shares sent so far'),
})

/**
 * The node-level paths: no envelope, served while sealed; only sealing and step-down need a token.
 * docs/operations.md#health, docs/operations.md#start-stop-restart
 */
export function nodeStateRoutes(app: FastifyInstance, parts: NodeStateParts): void {
  const { state, jsonLimits } = parts
  route(
    app,
    {
      path: 'health/live',
      verbs: ['GET', 'HEAD'],
      summary: 'Is the process alive?',
      answer: nodeAnswers.live,
    },
    (reply) => json(reply, 200, { status: 'live' }),
  )
  route(
    app,
    {
      path: 'health/ready',
      verbs: ['GET', 'HEAD'],
      summary: 'Are requests served?',
      answer: nodeAnswers.ready,
    },
    async (reply) => {
      const status = await state.readiness()
      if (status !== 'ready') reply.header('retry-after', '1')
      return json(reply, status === 'ready' ? 200 : 503, { status })
    },
  )
  route(
    app,
    {
      path: 'sys/health',
      verbs: ['GET', 'HEAD'],
      summary: 'Read the state of this node; the status code reflects it',
      query: healthQuery,
      answer: nodeAnswers.health,
    },
    (reply, call) => health(reply, call, state),
  )
  route(
    app,
    {
      path: 'sys/init',
      verbs: ['GET', 'POST', 'PUT'],
      summary: 'Is the server initialized?',
      answer: nodeAnswers.init,
    },
    (reply, call) => {
      if (call.verb === 'GET') return json(reply, 200, { initialized: state.isInitialized() })
      return json(reply, 400, { errors: ['Vault is already initialized'] })
    },
  )
  route(
    app,
    {
      path: 'sys/seal-status',
      verbs: ['GET'],
      summary: 'Is the server sealed?',
      answer: nodeAnswers.sealStatus,
    },
    (reply) => json(reply, 200, sealStatus(state)),
  )
  route(
    app,
    { path: 'sys/leader', verbs: ['GET'], summary: 'Which node leads?', answer: nodeAnswers.leader },
    (reply) =>
      json(reply, 200, {
        ha_enabled: false,
        is_self: false,
        active_time: '0001-01-01T00:00:00Z',
        leader_address: '',
        leader_cluster_address: '',
        performance_standby: false,
        performance_standby_last_remote_wal: 0,
      }),
  )
  route(
    app,
    {
      path: 'sys/seal',
      verbs: ['POST', 'PUT'],
      summary: 'Seal the server until its next start',
      answer: nodeAnswers.done,
      needsSudo: true,
    },
    async (reply, call, request) => {
      if (!state.isSealed()) await parts.seal(request, call)
      return reply.code(204).header('content-type', 'application/json').send()
    },
  )
  route(
    app,
    {
      path: 'sys/step-down',
      verbs: ['POST', 'PUT'],
      summary: 'Step down as leader',
      answer: nodeAnswers.done,
      needsSudo: true,
    },
    async (reply, call, request) => {
      await parts.stepDown(request, call)
      return reply.code(204).header('content-type', 'application/json').send()
    },
  )
  route(
    app,
    {
      path: 'sys/unseal',
      verbs: ['POST', 'PUT'],
      summary: 'Offer a share of the seal key',
      body: unsealBody,
      answer: nodeAnswers.sealStatus,
    },
    (reply, _call, request) => unseal(reply, structOf(request.body, jsonLimits), state),
  )
}

type Handler = (
  reply: FastifyReply,
  call: Call,
  request: FastifyRequest,
) => FastifyReply | Promise<FastifyReply>

type NodePath = {
  path: string
  /** The first is the method in the OpenAPI document. */
  verbs: readonly ['GET' | 'POST', ...string[]]
  summary: string
  query?: z.ZodObject
  body?: z.ZodObject
  answer: DocumentedAnswer
  /** The handler checks the token itself. */
  needsSudo?: true
}

/** Registers and documents one path: `sys/…` below `/v1`, any other path at the root of the server. */
function route(
  app: FastifyInstance,
  { path, verbs, summary, query, body, answer, needsSudo }: NodePath,
  handle: Handler,
): void {
  const isSys = path.startsWith('sys/')
  const schema = {
    summary,
    ...(query && { querystring: query }),
    ...(body && { body }),
    ...(answer.output && { response: { 200: answer.output } }),
  }
  app.route({
    method: Object.values(carrierOf),
    url: isSys ? `/-/node/${path.slice(4)}` : `/-/${path}`,
    schema: { hide: true },
    config: { document: { path: `/${path}`, method: verbs[0], at: isSys ? 'v1' : 'root', schema, answer } },
    handler: (request, reply) => {
      const call = callOf(request.raw)
      return verbs.includes(call.verb) ? handle(reply, call, request) : sendJson(reply, 405, errorBody())
    },
  })
  if (!isSys) return
  const empty = z.object({})
  const told = (['GET', 'POST'] as const).filter((verb) => verbs.includes(verb))
  helpOnly(app, `/system/${path.slice(4)}`, {
    path: `/${path}`,
    isOfNode: true,
    about: summary,
    needs: needsSudo ? 'sudo' : 'nothing',
    verbs: told.map((verb) => ({
      verb: verb === 'GET' ? 'read' : 'write',
      summary,
      input: (verb === 'GET' ? query : body) ?? empty,
      anyFields: false,
    })),
  })
}

const json = (reply: FastifyReply, status: number, body: object): FastifyReply =>
  sendJson(reply, status, `${JSON.stringify(body)}\n`)

async function health(reply: FastifyReply, call: Call, state: NodeState): Promise<FastifyReply> {
  const query = new URLSearchParams(call.query)
  const codes = { uninitcode: 501, sealedcode: 503, standbycode: 429, activecode: 200, storagecode: 503 }
  for (const name of Object.keys(codes) as (keyof typeof codes)[]) {
    const sent = query.get(name)
    if (sent === null) continue
    const code = /^[+-]?\d{1,9}$/.test(sent) ? Number(sent) : 0
    // only these are final status codes. RFC 9110 §15
    if (code < 200 || code > 599) return json(reply, 400, { errors: [] })
    codes[name] = code
  }
  const standbyOk = query.get('standbyok') ?? ''
  if (standbyOk !== '' && parseBool(standbyOk) === undefined) return json(reply, 400, { errors: [] })
  const open = state.isInitialized() && !state.isSealed()
  const storage = open && !(await state.isStorageUp()) ? { storage: 'unavailable' } : {}
  const code = !state.isInitialized()
    ? codes.uninitcode
    : state.isSealed()
      ? codes.sealedcode
      : 'storage' in storage
        ? codes.storagecode
        : codes.activecode
  return json(reply, code, {
    initialized: state.isInitialized(),
    sealed: !open,
    standby: !open,
    performance_standby: false,
    replication_performance_mode: open ? 'disabled' : 'unknown',
    replication_dr_mode: open ? 'disabled' : 'unknown',
    server_time_utc: Math.floor(state.now() / 1000),
    version: state.version,
    gatehouse_version: state.gatehouseVersion,
    enterprise: state.version.includes('ent'),
    ...(open ? { cluster_name: clusterName(state), cluster_id: state.clusterId } : {}),
    ...storage,
  })
}

function sealStatus(state: NodeState): object {
  const sealed = state.isSealed()
  return {
    type: 'static',
    initialized: state.isInitialized(),
    sealed,
    t: 0,
    n: 0,
    progress: 0,
    nonce: '',
    version: state.version,
    build_date: '2026-01-01T00:00:00Z',
    commit_date: '2026-01-01T00:00:00Z',
    migration: false,
    ...(sealed ? {} : { cluster_name: clusterName(state), cluster_id: state.clusterId }),
    recovery_seal: true,
    storage_type: state.storageType,
  }
}

/** A static seal has no shares: the server unseals itself when it starts. */
function unseal(reply: FastifyReply, fields: ReadonlyMap<string, JsonValue>, state: NodeState): FastifyReply {
  const key = fields.get('key')
  const reset = fields.get('reset')
  for (const [value, type, name] of [
    [key, 'string', 'key'],
    [reset, 'boolean', 'reset'],
  ] as const) {
    if (value !== undefined && value !== null && typeof value !== type) {
      const text = `failed to parse JSON input: json: cannot unmarshal ${jsonTypeName(value)} into Go struct field UnsealRequest.${name} of type ${type === 'boolean' ? 'bool' : type}`
      return json(reply, 400, { errors: [text] })
    }
  }
  if (reset === true)
    return state.isSealed()
      ? json(reply, 200, sealStatus(state))
      : json(reply, 400, { errors: ['vault is unsealed'] })
  if (state.isSealed())
    return json(reply, 400, { errors: ['restart the server to unseal: this store opens with its key file'] })
  if (typeof key !== 'string' || key === '') {
    return json(reply, 400, {
      errors: ["'key' must be specified in request body as JSON, or 'reset' set to true"],
    })
  }
  if (!isShare(key)) return json(reply, 400, { errors: ["'key' must be a valid hex or base64 string"] })
  return json(reply, 200, sealStatus(state))
}

const isShare = (key: string): boolean =>
  key.length % 2 === 0 && key.length >= 32 && /^[0-9a-fA-F]+$/.test(key)
    ? true
    : key.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(key)

/**
 * A body read into a fixed struct: keys match in any case, unknown ones are ignored.
 * docs/contract/http.md#bodies
 */
function structOf(body: unknown, limits: JsonLimits): Map<string, JsonValue> {
  const fields = readFields(body instanceof Uint8Array ? body : undefined, undefined, limits)
  return new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]))
}
