import { describe, expect, test } from 'vitest'
import { Client } from '../../support/client.ts'
import { errors, errorText, invalidToken, notAccepted, notAllowed } from '../../support/error-bodies.ts'
import { productVersion } from '../../support/product-version.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const sealedServer = async () => {
  const server = await startTestServer()
  expect((await server.root.call('PUT', 'sys/seal')).status).toBe(204)
  return server
}

/** Shared servers: their users must not change them. */
const openOne = shared(startTestServer)
const sealedOne = shared(sealedServer)
const reportingOne = shared(() => startTestServer({ settings: { REPORTED_VERSION: '1.17.2+ent' } }))

describe('health', () => {
  test.each(['sys/health', '/sys/health', '/health'])(
    '%s describes an unsealed server completely',
    async (path) => {
      const server = await reportingOne()

      const { status, body } = await server.anonymous.read(path)

      expect(status).toBe(200)
      expect(body).toEqual({
        initialized: true,
        sealed: false,
        standby: false,
        performance_standby: false,
        replication_performance_mode: 'disabled',
        replication_dr_mode: 'disabled',
        server_time_utc: expect.any(Number),
        version: '1.17.2+ent',
        gatehouse_version: productVersion,
        enterprise: true,
        cluster_name: expect.stringMatching(/^vault-cluster-[0-9a-f]{8}$/),
        cluster_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      })
    },
  )

  test('a sealed server hides its cluster', async () => {
    const server = await sealedOne()

    const { status, body } = await server.anonymous.read('sys/health')

    expect(status).toBe(503)
    expect(body).toMatchObject({
      initialized: true,
      sealed: true,
      standby: true,
      replication_dr_mode: 'unknown',
      replication_performance_mode: 'unknown',
      gatehouse_version: productVersion,
    })
    expect(body).not.toHaveProperty('cluster_id')
  })

  test.each([
    { query: '', open: 200, sealed: 503 },
    { query: '?activecode=299', open: 299, sealed: 503 },
    { query: '?sealedcode=299', open: 200, sealed: 299 },
    { query: '?activecode=503&sealedcode=200', open: 503, sealed: 200 },
    { query: '?uninitcode=299', open: 200, sealed: 503 },
    { query: '?standbycode=299', open: 200, sealed: 503 },
    { query: '?standbyok', open: 200, sealed: 503 },
    { query: '?standbyok=true', open: 200, sealed: 503 },
    {
      query: '?drsecondarycode=abc&performancestandbycode=x&haunhealhty=y&removedcode=z&anything',
      open: 200,
      sealed: 503,
    },
    { query: '?sealedcode=abc', open: 400, sealed: 400 },
    { query: '?activecode=', open: 400, sealed: 400 },
    { query: '?activecode=2e2', open: 400, sealed: 400 },
    { query: '?activecode=99', open: 400, sealed: 400 },
    { query: '?activecode=100', open: 400, sealed: 400 },
    { query: '?activecode=1000', open: 400, sealed: 400 },
    { query: '?activecode=-1', open: 400, sealed: 400 },
    { query: '?standbyok=maybe', open: 400, sealed: 400 },
  ])('GET and HEAD with "$query": $open open, $sealed sealed', async ({ query, open, sealed }) => {
    const codes = async ({ anonymous }: TestServer) => [
      (await anonymous.read(`sys/health${query}`)).status,
      (await anonymous.call('HEAD', `sys/health${query}`)).status,
    ]

    expect(await codes(await openOne())).toEqual([open, open])
    expect(await codes(await sealedOne())).toEqual([sealed, sealed])
  })

  test('HEAD has no body, a refusal has E[]', async () => {
    const server = await openOne()

    expect((await server.anonymous.call('HEAD', 'sys/health')).text).toBe('')
    expect((await server.anonymous.read('sys/health?activecode=x')).body).toEqual(errors())
  })

  test('a community version says that it is not enterprise', async () => {
    await using server = await startTestServer({ settings: { REPORTED_VERSION: '1.16.3' } })

    expect((await server.anonymous.read('sys/health')).body).toMatchObject({
      version: '1.16.3',
      enterprise: false,
    })
  })
})

describe('probes', () => {
  test.each(['GET', 'HEAD'])('%s works for /health/live and /health/ready', async (method) => {
    await using server = await startTestServer()

    expect((await server.anonymous.call(method, '/health/live')).status).toBe(200)
    expect((await server.anonymous.call(method, '/health/ready')).status).toBe(200)
    await server.root.call('PUT', 'sys/seal')
    expect((await server.anonymous.call(method, '/health/live')).status).toBe(200)
    expect(await server.anonymous.call(method, '/health/ready')).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
    })
  })

  test('probes give the reason, on the metrics listener even after the main one is closed', async () => {
    await using server = await startTestServer({ settings: { METRICS_LISTEN: '127.0.0.1:0' } })
    const watcher = new Client(`http://127.0.0.1:${server.server.metricsPort}`)
    const probes = async (client: Client) => [
      (await client.read('/health/live')).body,
      (await client.read('/health/ready')).body,
    ]
    const open = [await probes(server.anonymous), await probes(watcher)]
    await server.root.call('PUT', 'sys/seal')
    const sealed = [await probes(server.anonymous), await probes(watcher)]

    await server.server.drain(0)
    const stopping = await probes(watcher)

    const live = { status: 'live' }
    expect(open).toEqual(Array(2).fill([live, { status: 'ready' }]))
    expect(sealed).toEqual(Array(2).fill([live, { status: 'sealed' }]))
    expect(stopping).toEqual([live, { status: 'stopping' }])
    await expect(new Client(server.url).read('/health/live')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test.each(['/health/live', '/health/ready', '/health'])('POST %s is 405', async (path) => {
    const server = await openOne()

    expect(await server.anonymous.write(path, {})).toMatchObject({ status: 405, body: errors() })
  })
})

const offered: Record<string, string[]> = {
  'sys/health': ['GET', 'HEAD'],
  'sys/init': ['GET', 'POST', 'PUT'],
  'sys/seal-status': ['GET'],
  'sys/leader': ['GET'],
  'sys/seal': ['POST', 'PUT'],
  'sys/step-down': ['POST', 'PUT'],
  'sys/unseal': ['POST', 'PUT'],
}

test.each(Object.keys(offered))('%s answers other verbs with 405 E[], sealed or not', async (path) => {
  const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'LIST', 'SCAN', 'OPTIONS', 'FOO'].filter(
    (verb) => !offered[path]?.includes(verb),
  )

  for (const server of [await openOne(), await sealedOne()]) {
    for (const verb of others) {
      const answer = await server.root.call(verb, path)
      expect(`${verb} ${answer.status}`).toBe(`${verb} 405`)
      expect(answer.text).toBe(verb === 'HEAD' ? '' : '{"errors":[]}\n')
    }
  }
})

test.each([
  'raw',
  'raw/x',
  'generate-recovery-token',
  'init',
  'seal',
  'step-down',
  'unseal',
  'health',
  'health/x',
  'rekey-recovery-key',
  'rekey/init',
  'storage/raft',
  'generate-root/attempt',
  'metrics',
  'pprof/heap',
  'in-flight-req',
])('sys/%s is not available in a namespace, not even in one called root', async (path) => {
  const server = await openOne()

  for (const name of ['root', 'nope', '/']) {
    const answer = await server.root.read(`sys/${path}`, { headers: { 'X-Vault-Namespace': name } })
    expect(answer).toMatchObject({
      status: 400,
      body: errors('operation unavailable in namespaces'),
      headers: { 'x-vault-namespace': name },
    })
  }
})

test.each(['seal-status', 'leader'])('sys/%s answers in any namespace, even an unknown one', async (path) => {
  const server = await openOne()

  expect(
    (await server.anonymous.read(`sys/${path}`, { headers: { 'X-Vault-Namespace': 'nope' } })).status,
  ).toBe(200)
})

describe('init', () => {
  test('is reported as done and cannot be repeated', async () => {
    const server = await openOne()

    expect(await server.anonymous.read('sys/init')).toMatchObject({
      status: 200,
      body: { initialized: true },
    })
    for (const verb of ['PUT', 'POST']) {
      const answer = await server.anonymous.call(verb, 'sys/init', { secret_shares: 5, secret_threshold: 3 })
      expect(answer).toMatchObject({ status: 400, body: errors('Vault is already initialized') })
    }
  })
})

describe('seal status and leader', () => {
  test('describe an unsealed server', async () => {
    const server = await openOne()

    const { body } = await server.anonymous.read('sys/seal-status')

    expect(body).toMatchObject({
      initialized: true,
      sealed: false,
      progress: 0,
      nonce: '',
      migration: false,
      recovery_seal: true,
      storage_type: 'inmem',
    })
    expect(body).toHaveProperty('cluster_id', (await server.anonymous.read('sys/health')).body.cluster_id)
    expect(String(body['version'])).toMatch(/^\d+\.\d+\.\d+/)
  })

  test('describe a sealed server', async () => {
    const server = await sealedOne()

    const status = await server.anonymous.read('sys/seal-status')

    expect(status).toMatchObject({ status: 200, body: { initialized: true, sealed: true } })
    expect(status.body).not.toHaveProperty('cluster_id')
    expect(await server.anonymous.read('sys/leader')).toMatchObject({
      status: 200,
      body: { ha_enabled: false },
    })
  })
})

describe('unseal', () => {
  test.each([
    {
      sent: '',
      status: 400,
      text: "'key' must be specified in request body as JSON, or 'reset' set to true",
    },
    {
      sent: '{}',
      status: 400,
      text: "'key' must be specified in request body as JSON, or 'reset' set to true",
    },
    {
      sent: 'null',
      status: 400,
      text: "'key' must be specified in request body as JSON, or 'reset' set to true",
    },
    {
      sent: '{"key":""}',
      status: 400,
      text: "'key' must be specified in request body as JSON, or 'reset' set to true",
    },
    {
      sent: '{"key":null,"reset":null}',
      status: 400,
      text: "'key' must be specified in request body as JSON, or 'reset' set to true",
    },
    { sent: '{"key":"no key!"}', status: 400, text: "'key' must be a valid hex or base64 string" },
    { sent: '{"key":"abcde"}', status: 400, text: "'key' must be a valid hex or base64 string" },
    { sent: '{"KEY":"no key!"}', status: 400, text: "'key' must be a valid hex or base64 string" },
    { sent: '{"reset":true}', status: 400, text: 'vault is unsealed' },
    {
      sent: '{"key":5}',
      status: 400,
      text: 'failed to parse JSON input: json: cannot unmarshal number into Go struct field UnsealRequest.key of type string',
    },
    {
      sent: '{"key":{}}',
      status: 400,
      text: 'failed to parse JSON input: json: cannot unmarshal object into Go struct field UnsealRequest.key of type string',
    },
    {
      sent: '{"reset":"x"}',
      status: 400,
      text: 'failed to parse JSON input: json: cannot unmarshal string into Go struct field UnsealRequest.reset of type bool',
    },
    {
      sent: '[]',
      status: 400,
      text: 'failed to parse JSON input: json: cannot unmarshal array into Go value of type',
    },
    { sent: '{"key":', status: 400, text: 'failed to parse JSON input: unexpected EOF' },
    { sent: `{"key":"${'ab'.repeat(33)}"}`, status: 200 },
    { sent: '{"key":"YWJjZA==","unknown":{"a":1}}', status: 200 },
    { sent: `{"key":"${'ab'.repeat(400_000)}"}`, status: 200 },
    {
      sent: `{"key":"${'ab'.repeat(400_000)}!"}`,
      status: 400,
      text: "'key' must be a valid hex or base64 string",
    },
  ])('an unsealed server answers request %# with $status $text', async ({ sent, status, text }) => {
    const server = await openOne()

    const answer = await server.anonymous.call('PUT', 'sys/unseal', undefined, { raw: sent })

    expect(answer.status).toBe(status)
    if (text === undefined) expect(answer.body).toMatchObject({ sealed: false, progress: 0 })
    else expect(errorText(answer.body).startsWith(text)).toBe(true)
  })

  test('a sealed server discards shares on reset', async () => {
    await using server = await sealedServer()

    expect(await server.anonymous.write('sys/unseal', { reset: true })).toMatchObject({
      status: 200,
      body: { sealed: true, progress: 0 },
    })
  })
})

describe('seal', () => {
  test('requires update and sudo', async () => {
    await using server = await startTestServer()
    const withRights = async (name: string, capabilities: string) => {
      await server.root.write(`sys/policies/acl/${name}`, {
        policy: `path "sys/seal" { capabilities = [${capabilities}] }`,
      })
      const created = await server.root.write('auth/token/create', { policies: [name] })
      return server.as(String(created.body.auth?.client_token))
    }
    const sealer = await withRights('sealer', '"update", "sudo"')

    expect(await server.anonymous.call('PUT', 'sys/seal')).toMatchObject({ status: 403, body: notAccepted })
    expect(await server.as('bad').call('PUT', 'sys/seal')).toMatchObject({ status: 403, body: invalidToken })
    expect(await (await withRights('a', '"update"')).call('PUT', 'sys/seal')).toMatchObject({
      status: 403,
      body: notAllowed,
    })
    expect(await (await withRights('b', '"sudo"')).call('PUT', 'sys/seal')).toMatchObject({
      status: 403,
      body: notAllowed,
    })
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: false })
    expect(await sealer.write('sys/seal')).toMatchObject({ status: 204, text: '' })
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: true })
  })

  test('a sealed server serves only state, and sealing again needs no token', async () => {
    await using server = await sealedServer()

    for (const [verb, path] of [
      ['GET', 'auth/token/lookup-self'],
      ['GET', 'nope'],
      ['LIST', 'sys/policies/acl'],
      ['POST', 'auth/jwt/login'],
      ['GET', 'sys/internal/ui/mounts'],
      ['GET', 'sys/internal/specs/openapi'],
      ['DELETE', 'cubbyhole/a'],
      ['PUT', 'auth/token/revoke-self'],
      ['HELP', 'sys/mounts'],
    ] as const) {
      expect(await server.root.call(verb, path)).toMatchObject({
        status: 503,
        body: errors('Vault is sealed'),
      })
    }
    expect((await server.anonymous.call('PUT', 'sys/seal')).status).toBe(204)
  })

  test('a token with one use left that seals is spent', async () => {
    await using server = await startTestServer()
    await server.root.write('sys/policies/acl/s', { policy: 'path "sys/seal" { capabilities = ["update"] }' })
    const created = await server.root.write('auth/token/create', { policies: ['s', 'default'], num_uses: 1 })
    const once = server.as(String(created.body.auth?.client_token))

    expect((await once.call('PUT', 'sys/seal')).body).toEqual(notAllowed)
    expect((await once.read('auth/token/lookup-self')).body).toEqual(invalidToken)
  })
})

test('step-down has no effect for anyone', async () => {
  await using server = await startTestServer()

  expect(await server.anonymous.call('PUT', 'sys/step-down')).toMatchObject({ status: 204, text: '' })
})
