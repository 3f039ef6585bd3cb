import { readFile, stat, writeFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { Authority } from '../support/certificates.ts'
import { commandHere } from '../support/command-here.ts'
import { runCommand, startProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const opened = async (path: string) => gunzipSync(await readFile(path)).toString()

test('support collects state, settings, metrics and the log of a running server, and no secret', async () => {
  await using folder = await temporaryFolder()
  const settings = { DEFAULT_LEASE_TTL: '24h', REPLICA_NAME: 'one' }
  await using server = await startProcess({ folder: folder.path, settings })
  const root = server.as(server.rootToken)
  await root.write('cubbyhole/canary-name', { password: 'canary-value' })
  await root.write('sys/mounts/kv', { type: 'kv-v2' })
  await root.write('kv/data/canary-secret', { data: { 'canary-field': 'canary-secret-value' } })
  await root.write('kv/data/canary-secret', { data: 'canary-wrong' })
  await root.write('sys/policies/acl/p', { policy: 'path "canary-policy" {' })
  await server.anonymous.write('sys/wrapping/unwrap', { token: 'hvs.canary-wrapping' })
  const made = await root.write('auth/token/create', { id: 'canary-chosen-token', policies: ['default'] })
  await server.as('canary-chosen-token').read('auth/token/lookup-self?note=canary-query')
  await writeFile(folder.file('old.log'), '{"msg":"an older line"}\n')

  const environment = {
    GATEHOUSE_DEFAULT_LEASE_TTL: '24h',
    GATEHOUSE_SEAL_KEY: '5e'.repeat(32),
    GATEHOUSE_STORAGE_PASSWORD: 'canary-password',
    GATEHOUSE_AUDIT: '[{"path":"a","type":"http","options":{"headers":"{\\"x\\":\\"canary-header\\"}"}}]',
    HTTPS_PROXY: 'http://someone:not@canary-proxy@proxy.example.com:3128',
    NO_PROXY: 'http://canary-user@proxy.example.com',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=canary-collector',
    CLOUD_OF_ANOTHER_PROGRAM: 'canary-foreign',
    GATEHOUSE_LISTEN: new URL(server.url).host,
    VAULT_ADDR: 'http://127.0.0.1:1',
    VAULT_TOKEN: server.rootToken,
  }

  const args = ['--out', 'report.json.gz', '--log', 'old.log']
  const done = await runCommand('support', { folder: folder.path, args, environment })

  expect(done).toMatchObject({ code: 0 })
  expect((await stat(folder.file('report.json.gz'))).mode & 0o777).toBe(0o600)
  const text = await opened(folder.file('report.json.gz'))
  const report = JSON.parse(text)
  const key = (await readFile(folder.file('data/seal.key'), 'utf8')).trim()
  const accessor = String(made.body['auth']?.['accessor'])
  for (const secret of ['canary', server.rootToken, '5e5e5e5e', key, accessor])
    expect(text, secret).not.toContain(secret)
  expect(report.settings).toMatchObject({
    GATEHOUSE_DEFAULT_LEASE_TTL: '24h',
    GATEHOUSE_SEAL_KEY: '(set)',
    GATEHOUSE_AUDIT: '(set)',
    HTTPS_PROXY: 'http://(set)@proxy.example.com:3128',
    OTEL_EXPORTER_OTLP_HEADERS: '(set)',
  })
  expect(report.server['/v1/sys/seal-status'].status).toBe(200)
  expect(report.server['/v1/sys/metrics?format=prometheus'].body).toContain('gatehouse_sealed 0')
  expect(report.server['/v1/sys/monitor?recent=true&log_format=json'].body.join()).toContain(
    '"event":"started"',
  )
  expect(report.log).toContain('{"msg":"an older line"}')
  expect(report.storage).toMatchObject({ kind: 'sqlite', bytes: expect.any(Number) })
})

test('support works without a server, and never overwrites a file', async () => {
  await using folder = await temporaryFolder()
  const address = { GATEHOUSE_LISTEN: '127.0.0.1:1' }

  const here = () => commandHere('support', { folder: folder.path, args: ['a.gz'], environment: address })
  expect(await here()).toMatchObject({ code: 0 })
  expect(await here()).toMatchObject({ code: 1, stderr: 'cannot write a.gz: EEXIST\n' })

  const report = JSON.parse(await opened(folder.file('a.gz')))
  expect(report.server['/health/ready']).toEqual({ error: 'no response from 127.0.0.1:1: ECONNREFUSED' })
})

test('support asks a server with TLS only if it has the certificate of the settings', async () => {
  await using folder = await temporaryFolder()
  using authority = new Authority()
  for (const name of ['gate', 'other']) {
    const { cert, key } = authority.sign(name)
    await writeFile(folder.file(`${name}.crt`), cert)
    await writeFile(folder.file(`${name}.key`), key)
  }
  const tls = (name: string) => ({
    TLS_CERT_FILE: folder.file(`${name}.crt`),
    TLS_KEY_FILE: folder.file(`${name}.key`),
  })
  await using server = await startTestServer({ settings: { LISTEN: '127.0.0.1:0', ...tls('gate') } })
  const LISTEN = new URL(server.url).host
  const asked = async (name: string) => {
    const outcome = await commandHere('support', {
      folder: folder.path,
      args: ['--out', `${name}.gz`],
      settings: { LISTEN, ...tls(name) },
      environment: { VAULT_TOKEN: 'root' },
    })
    expect(outcome.code).toBe(0)
    return JSON.parse(await opened(folder.file(`${name}.gz`))).server['/v1/sys/key-status']
  }

  expect(await asked('gate')).toMatchObject({ status: 200 })
  expect(await asked('other')).toEqual({ error: `no response from ${LISTEN}: it has another certificate` })
})

test.each([[[]], [['a', 'b']], [['a', '--out', 'b']], [['--what']]])('support %j: usage', async (args) => {
  await using folder = await temporaryFolder()
  expect(await commandHere('support', { folder: folder.path, args })).toMatchObject({ code: 2 })
})
