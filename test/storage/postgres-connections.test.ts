import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { makeCertificates } from '../../simulators/directory/certificates.ts'
import type { PostgresServer } from '../../simulators/postgres-server.ts'
import { parsePostgresUrl } from '../../src/lib/net/postgres-url.ts'
import { type ConnectionSettings, openSession } from '../../src/storage/postgres/session.ts'
import { strangerCertificate } from '../plugins/jwt-auth/certificates.ts'
import { logLines } from '../support/log-lines.ts'
import { postgresInstallation, query } from '../support/postgres.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'
import { shared } from '../support/shared.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A role that needs its password. */
const role = 'app'
const firstPassword = 'correct horse battery staple'
const laterPassword = 'pâté à l’ancienne'

/** A PostgreSQL that offers TLS, with a certificate for `localhost`, 127.0.0.1 and ::1. */
const world = shared(async () => {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const listen_addresses = '127.0.0.1,127.0.0.2'
  const postgres = opened.use(await (await postgresInstallation()).start({ listen_addresses }))
  const { ca, cert, key } = makeCertificates()
  await writeFile(folder.file('ca.pem'), ca)
  await writeFile(folder.file('stranger.pem'), strangerCertificate)
  await writeFile(folder.file('empty.pem'), '')
  await offerTls(postgres, cert, key)
  await query(postgres.url(), `CREATE ROLE with_password; CREATE ROLE ${role} LOGIN IN ROLE with_password`)
  await query(postgres.url(), `ALTER DATABASE postgres OWNER TO ${role}`)
  await setPassword(postgres, firstPassword)
  const held = opened.move()
  return { postgres, folder, [Symbol.asyncDispose]: () => held.disposeAsync() }
})

async function offerTls(postgres: PostgresServer, cert: string, key: string): Promise<void> {
  const { uid, gid } = await stat(postgres.folder)
  for (const [name, content] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
    await writeFile(join(postgres.folder, name), content, { mode: 0o600 })
    await chown(join(postgres.folder, name), uid, gid)
  }
  await query(postgres.url(), 'ALTER SYSTEM SET ssl = on')
  await query(postgres.url(), 'SELECT pg_reload_conf()')
  // it reads the files a moment later
  await expect.poll(() => query(postgres.url(), 'SHOW ssl')).toEqual([{ ssl: 'on' }])
}

const setPassword = (postgres: PostgresServer, password: string) =>
  query(postgres.url(), `ALTER ROLE ${role} PASSWORD '${password}'`)

async function settingsFor(
  url: string,
  { caFile, ...secret }: Partial<Pick<ConnectionSettings, 'caFile' | 'password' | 'passwordFile'>> = {},
): Promise<ConnectionSettings> {
  const address = parsePostgresUrl(url)
  if (typeof address === 'string') throw new Error(address)
  return {
    address,
    password: undefined,
    passwordFile: undefined,
    ...secret,
    caFile: caFile === undefined ? undefined : (await world()).folder.file(caFile),
    statementTimeoutMs: 2_000,
    prepares: true,
    applicationName: 'test',
  }
}

/** How the connection is protected, or why there is none. */
async function connect(settings: ConnectionSettings): Promise<string> {
  try {
    const session = await openSession(settings)
    const [row] = await session.text('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
    await session.end()
    return row?.[0] === 't' ? 'encrypted' : 'plain'
  } catch (cause) {
    return cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  }
}

describe('a connection to the database', () => {
  test.each([
    { mode: 'verify-full', host: '127.0.0.1', caFile: 'ca.pem', result: 'encrypted' },
    { mode: 'verify-full', host: 'localhost', caFile: 'ca.pem', result: 'encrypted' },
    { mode: 'verify-full', host: '127.0.0.2', caFile: 'ca.pem', result: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    // the resolver knows it as 127.0.0.1, and the certificate does not
    { mode: 'verify-full', host: '127.1', caFile: 'ca.pem', result: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    { mode: undefined, host: '127.1', caFile: 'ca.pem', result: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    { mode: 'verify-full', host: '127.0.0.1', caFile: 'stranger.pem', result: 'SELF_SIGNED_CERT_IN_CHAIN' },
    { mode: 'verify-full', host: '127.0.0.1', caFile: undefined, result: 'SELF_SIGNED_CERT_IN_CHAIN' },
    { mode: 'verify-full', host: '127.0.0.1', caFile: 'empty.pem', result: 'SELF_SIGNED_CERT_IN_CHAIN' },
    { mode: 'verify-ca', host: '127.0.0.2', caFile: 'ca.pem', result: 'encrypted' },
    { mode: 'verify-ca', host: '127.0.0.1', caFile: 'stranger.pem', result: 'SELF_SIGNED_CERT_IN_CHAIN' },
    { mode: 'require', host: '127.0.0.2', caFile: undefined, result: 'encrypted' },
    { mode: 'require', host: '127.0.0.2', caFile: 'ca.pem', result: 'encrypted' },
    { mode: 'require', host: '127.0.0.1', caFile: 'stranger.pem', result: 'SELF_SIGNED_CERT_IN_CHAIN' },
    { mode: 'disable', host: '127.0.0.1', caFile: 'ca.pem', result: 'plain' },
    { mode: undefined, host: '127.0.0.1', caFile: 'ca.pem', result: 'plain' },
  ])('with sslmode $mode to $host, trusting $caFile: $result', async ({ mode, host, caFile, result }) => {
    const { postgres } = await world()
    const url = postgres.url().replace('127.0.0.1', host)
    const address = mode === undefined ? url : `${url}?sslmode=${mode}`

    expect(await connect(await settingsFor(address, { ...(caFile !== undefined && { caFile }) }))).toBe(
      result,
    )
  })

  test('to a database without TLS fails unless TLS is disabled', async () => {
    await using plain = await (await postgresInstallation()).start()

    expect(await connect(await settingsFor(`${plain.url()}?sslmode=require`))).toMatch('does not support SSL')
    expect(await connect(await settingsFor(plain.url()))).toBe('plain')
  })

  test('a file that does not exist ends the start, and is named', async () => {
    const { postgres, folder } = await world()
    const missing = folder.file('missing')
    const open = (files: object) => openPostgresAt(postgres.url(), files)

    await expect(open({ caFile: missing })).rejects.toMatchObject({
      message: `GATEHOUSE_STORAGE_CA_FILE: cannot read ${missing}: ENOENT`,
      exitCode: 2,
    })
    await expect(open({ passwordFile: missing })).rejects.toMatchObject({
      message: `GATEHOUSE_STORAGE_PASSWORD_FILE: cannot read ${missing}: ENOENT`,
      exitCode: 2,
    })
  })

  test('has the password of the setting or of the file, as it is now', async () => {
    const { postgres, folder } = await world()
    const file = folder.file('password-now')
    const url = postgres.url('postgres', role)
    const fromFile = await settingsFor(url, { passwordFile: file })
    const results: string[] = []

    results.push(await connect(await settingsFor(url, { password: firstPassword })))
    await writeFile(file, `${firstPassword}\n`)
    results.push(await connect(fromFile))
    await writeFile(file, laterPassword)
    results.push(await connect(fromFile))
    await setPassword(postgres, laterPassword)
    results.push(await connect(fromFile))
    results.push(await connect(await settingsFor(url, { password: firstPassword })))
    await setPassword(postgres, firstPassword)

    const refused = '28P01'
    expect(results).toEqual(['plain', 'plain', refused, 'plain', refused])
  })
})

test('a server waits for the right password, follows a change of it, and shows neither', async () => {
  const { postgres, folder } = await world()
  const passwordFile = folder.file('password')
  let log = ''
  const output = new PassThrough().setEncoding('utf8').on('data', (part: string) => {
    log += part
  })
  const written = finished(output)
  const shown: string[] = []
  await writeFile(passwordFile, laterPassword)
  {
    const settings = {
      STORAGE: postgres.url('postgres', role),
      STORAGE_PASSWORD_FILE: passwordFile,
      SEAL_KEY: 'ab'.repeat(32),
      POSTGRES_POLL: '50ms',
      METRICS: 'open',
    }
    const logged = postgres.log.length
    const starting = startTestServer({ settings, log: pino({ level: 'trace' }, output) })
    const isRefused = () => postgres.log.slice(logged).includes('password authentication failed')
    await expect.poll(isRefused, { timeout: 10_000 }).toBe(true)
    await writeFile(passwordFile, firstPassword)
    await using server = await starting

    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`
    const write = () =>
      server.root.write('sys/policies/acl/mine', { policy: 'path "x" { capabilities = ["read"] }' })
    await setPassword(postgres, laterPassword)
    await query(postgres.url(), cut)
    await expect
      .poll(write, { timeout: 10_000 })
      .toMatchObject({
        status: 503,
        headers: { 'retry-after': '1' },
        body: { errors: ['storage is unavailable'] },
      })
    shown.push(JSON.stringify((await server.anonymous.read('/health/ready')).body))
    // connections end one by one: one that lives still may bring the storage back for a moment
    const sinceFirstBack = () => log.split('"storage_back"').slice(1).join()
    const isRefusedAgain = () => sinceFirstBack().includes('password authentication failed')
    await expect.poll(isRefusedAgain, { timeout: 10_000 }).toBe(true)
    await writeFile(passwordFile, laterPassword)
    await expect.poll(write, { timeout: 10_000 }).toMatchObject({ status: 204 })

    shown.push(await (await fetch(`${server.url}/metrics`)).text())
    shown.push(JSON.stringify((await server.root.read('sys/config/state/sanitized')).body))
    shown.push(JSON.stringify(await query(postgres.url(), 'SELECT * FROM pg_stat_activity')))
  }
  output.end()
  await written
  await setPassword(postgres, firstPassword)

  const reasons = logLines({ stderr: log }).flatMap(({ event, reason }) =>
    event === 'storage_lost' ? [reason] : event === 'storage_back' ? [event] : [],
  )
  const refused = `storage is unavailable: password authentication failed for user "${role}"`
  expect(reasons.slice(0, 2)).toEqual([refused, 'storage_back'])
  expect(reasons.slice(2, -1)).toContain(refused)
  expect(reasons.at(-1)).toBe('storage_back')
  for (const password of [firstPassword, laterPassword])
    expect([log, ...shown].join()).not.toContain(password)
})
