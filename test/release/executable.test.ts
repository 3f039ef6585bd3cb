import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { TLSSocket } from 'node:tls'
import { beforeAll, expect, test } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { Authority } from '../support/certificates.ts'
import { Client } from '../support/client.ts'
import { noSimulatedDisk, simulateDisk } from '../support/disk/simulated-disk.ts'
import { executable as builtExecutable } from '../support/executable.ts'
import { newDatabase } from '../support/postgres.ts'
import { productVersion } from '../support/product-version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectShippedUi } from '../ui/shipped-ui.ts'

let executable: string
beforeAll(async () => {
  executable = await builtExecutable()
}, 120_000)

/** Runs the executable in an empty folder, with an environment in which no program is found. */
function started(cwd: string, args: readonly string[], settings: Record<string, string> = {}) {
  const child = spawn(executable, args, {
    cwd,
    env: { PATH: '', GATEHOUSE_LISTEN: '127.0.0.1:0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const ended = once(child, 'close').then(([code]) => ({ code, ...output }))
  const logged = async (text: string, times = 1) => {
    while (output.stderr.split(text).length <= times) {
      const gaveUp = ended.then(() => Promise.reject(new Error(`the process ended:\n${output.stderr}`)))
      await Promise.race([once(child.stderr, 'data'), gaveUp])
    }
  }
  return { output, ended, logged, stop: () => child.kill('SIGTERM'), reload: () => child.kill('SIGHUP') }
}

test('the executable is one file that serves logins and makes backups, with no Node and no other file', async () => {
  await using cwd = await temporaryFolder()
  await mkdir(cwd.file('audit'))
  const server = started(cwd.path, [], { GATEHOUSE_AUDIT_DIRS: cwd.file('audit') })
  await server.logged('listening on ')
  const [, url = ''] = /listening on (http:[^"]+)/.exec(server.output.stderr) ?? []
  const [, token = ''] = /^Root token: (\S+)$/m.exec(server.output.stdout) ?? []
  const root = new Client(url, token)
  const signer = aSigner('ES256')

  const options = { file_path: cwd.file('audit/log') }
  const audited = await root.write('sys/audit/file', { type: 'file', options })
  await root.write('sys/auth/jwt', { type: 'jwt' })
  await root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
  await root.write('auth/jwt/role/ci', role)
  const jwt = signer.sign({ sub: 'build-7', aud: 'gate', exp: Math.floor(Date.now() / 1000) + 60 })
  const login = await new Client(url).write('auth/jwt/login', { role: 'ci', jwt })
  await root.write('sys/auth/userpass', { type: 'userpass' })
  const password_hash = '$2b$05$PEz0CKTeX13TeK5zOBK12e1CE4FDuO.s7boBYbZ3RA3pHdT7hb1/q'
  await root.write('auth/userpass/users/bob', { password_hash })
  const person = await new Client(url).write('auth/userpass/login/bob', { password: 'pw' })
  const page = await fetch(`${url}/docs/static/swagger-ui.css`)
  const backup = await started(cwd.path, ['backup', 'copy.db']).ended
  const verified = await started(cwd.path, ['verify', 'copy.db']).ended
  server.stop()
  const { code } = await server.ended

  expect([audited.status, login.status, person.status, page.status, code]).toEqual([204, 200, 200, 200, 0])
  expect(backup).toMatchObject({ code: 0, stdout: expect.stringContaining('Backup written to copy.db') })
  expect(verified).toMatchObject({ code: 0, stderr: '' })
  expect((await readdir(cwd.path)).toSorted()).toEqual(['audit', 'copy.db', 'data'])
})

test.skipIf(noSimulatedDisk !== undefined)(
  'the executable ends in time with its exit code although the disk hangs, and needs no other program for it',
  async () => {
    await using cwd = await temporaryFolder()
    using disk = simulateDisk(cwd.file('data'))
    const environment = await disk.environment()
    const server = started(cwd.path, [], { ...environment, GATEHOUSE_STOP_TIMEOUT: '500ms' })
    await server.logged('listening on ')

    disk.hang()
    server.stop()
    const { code } = await server.ended

    expect(code).toBe(6)
  },
)

test('the executable has the web UI', async () => {
  await using cwd = await temporaryFolder()
  const rootTokenFile = cwd.file('root-token')
  const server = started(cwd.path, [], { GATEHOUSE_ROOT_TOKEN_FILE: rootTokenFile })
  await server.logged('listening on ')
  const [, url = ''] = /listening on (http:[^"]+)/.exec(server.output.stderr) ?? []

  await expectShippedUi(url, (await readFile(rootTokenFile, 'utf8')).trim())

  server.stop()
  expect((await server.ended).code).toBe(0)
})

test('the executable says which version it is', async () => {
  await using cwd = await temporaryFolder()

  expect(await started(cwd.path, ['--version']).ended).toEqual({
    code: 0,
    stderr: '',
    stdout: `Gatehouse ${productVersion} (Node ${process.versions.node})\n`,
  })
})

test('workers of the executable share an address with TLS, and a reload gives each the new certificate', async () => {
  await using cwd = await temporaryFolder()
  using authority = new Authority()
  const install = async ({ cert, key }: { cert: string; key: string }) => {
    await writeFile(cwd.file('cert.pem'), cert)
    await writeFile(cwd.file('key.pem'), key)
  }
  await install(authority.sign('first'))
  const server = started(cwd.path, [], {
    GATEHOUSE_STORAGE: await newDatabase(),
    GATEHOUSE_SEAL_KEY: 'a5'.repeat(32),
    GATEHOUSE_WORKERS: '2',
    GATEHOUSE_REPLICA_NAME: 'gate',
    GATEHOUSE_METRICS: 'open',
    GATEHOUSE_TLS_CERT_FILE: cwd.file('cert.pem'),
    GATEHOUSE_TLS_KEY_FILE: cwd.file('key.pem'),
  })
  await server.logged('"replica":"gate-2","event":"worker_started"')
  const [, port] = /listening on https:\/\/127.0.0.1:(\d+)/.exec(server.output.stderr) ?? []
  /** Each on a connection of its own. */
  const read = (path: string) =>
    new Promise<{ status: number | undefined; name: unknown; text: string }>((resolve, reject) => {
      request({ port, host: '127.0.0.1', ca: authority.cert, agent: false, path }, (response) => {
        const { socket, statusCode: status } = response
        const name = socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : undefined
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () => resolve({ status, name, text }))
      })
        .on('error', reject)
        .end()
    })
  /** Statuses and names of certificates, once both workers have answered. */
  const readFromBoth = async (path: string, route: string) => {
    const seen = new Set<string>()
    for (;;) {
      const { status, name } = await read(path)
      seen.add(`${status} ${String(name)}`)
      const { text } = await read('/metrics')
      const counted = text.split('\n').filter((line) => line.startsWith('gatehouse_http_requests_total{'))
      const processes = counted.filter((line) => line.includes(`route="${route}"`))
      if (processes.length === 2) return [...seen]
    }
  }

  const before = await readFromBoth('/v1/sys/health', '/sys/health')
  await install(authority.sign('renewed'))
  server.reload()
  await server.logged('"certificate_expires"', 2)
  const after = await readFromBoth('/v1/sys/seal-status', '/sys/seal-status')
  server.stop()
  const { code } = await server.ended

  expect([before, after, code]).toEqual([['200 first'], ['200 renewed'], 0])
})
