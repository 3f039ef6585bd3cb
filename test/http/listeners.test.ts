import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { reasonOf } from '../../src/http/wire/listen-address.ts'
import { Client } from '../support/client.ts'
import { startProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { head } from './wire.ts'

/** Leaves the file of a Unix socket on which nobody listens. */
async function leaveSocketFile(path: string): Promise<void> {
  const server = createServer().listen(`${path}.first`)
  await once(server, 'listening')
  // closing removes only the name that was bound
  renameSync(`${path}.first`, path)
  await new Promise((settle) => server.close(settle))
}

test('a server serves all its addresses, and a Unix socket only to its owner', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  await using server = await startTestServer({
    settings: { LISTEN: `127.0.0.1:0, localhost:0, unix:${path}` },
  })
  const { urls } = server.server

  const answers = await Promise.all(urls.map((url) => new Client(url, 'root').list('sys/policies/acl')))

  expect(urls).toEqual([
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    expect.stringMatching(/^http:\/\/(?:127\.0\.0\.1|\[::1\]):\d+$/),
    `unix:${path}`,
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a server on a Unix socket alone serves every verb, and removes the socket when it stops', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  const server = await startTestServer({ settings: { LISTEN: `unix:${path}` } })
  const root = new Client(server.url, 'root')

  const listed = await root.call('LIST', 'sys/policies/acl')
  const issuer = await root.read('identity/oidc/.well-known/openid-configuration')
  await server[Symbol.asyncDispose]()

  expect(listed.status).toBe(200)
  expect(String(issuer.body['issuer'])).toMatch(/^http:\/\/localhost\//)
  expect(existsSync(path)).toBe(false)
})

test('the socket file of a server that is gone is replaced', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  await leaveSocketFile(path)
  expect(existsSync(path)).toBe(true)

  await using server = await startTestServer({ settings: { LISTEN: `unix:${path}` } })

  expect((await new Client(server.url).read('sys/health')).status).toBe(200)
})

test('a socket that another server serves is refused, and so is a file that is no socket', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  await using server = await startTestServer({ settings: { LISTEN: `unix:${path}` } })
  writeFileSync(folder.file('notes'), 'kept')

  await expect(startTestServer({ settings: { LISTEN: `unix:${path}` } })).rejects.toThrow(
    `GATEHOUSE_LISTEN: cannot listen on unix:${path}: EADDRINUSE: another program listens there; stop it, or set another path`,
  )
  await expect(startTestServer({ settings: { LISTEN: `unix:${folder.file('notes')}` } })).rejects.toThrow(
    `GATEHOUSE_LISTEN: cannot listen on unix:${folder.file('notes')}: the file exists and is not a socket`,
  )
  expect((await new Client(server.url).read('sys/health')).status).toBe(200)
})

test('a socket whose folder is missing is refused with the reason', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('run/gate.sock')

  await expect(startTestServer({ settings: { LISTEN: `unix:${path}` } })).rejects.toThrow(
    `GATEHOUSE_LISTEN: cannot listen on unix:${path}: ENOENT: its folder is missing`,
  )
})

test.each([
  {
    code: 'EACCES',
    says: /^EACCES: the user of this process may not use this port; .*CAP_NET_BIND_SERVICE$/,
  },
  { code: 'EADDRNOTAVAIL', says: /^EADDRNOTAVAIL: this machine does not have this address$/ },
  { code: 'EMFILE', says: /^EMFILE$/ },
])(
  'an address that the system refuses with $code has a sentence, if there is more to say',
  ({ code, says }) => {
    expect(reasonOf(code, { host: '127.0.0.1', port: 80 })).toMatch(says)
  },
)

test('of servers that start at the same moment on the same path, one serves it', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  await leaveSocketFile(path)
  const starts = Array.from({ length: 4 }, () => startTestServer({ settings: { LISTEN: `unix:${path}` } }))

  const ended = await Promise.allSettled(starts)
  const served = await new Client(`unix:${path}`).read('sys/health')
  for (const one of ended) if (one.status === 'fulfilled') await one.value[Symbol.asyncDispose]()

  expect(ended.map(({ status }) => status).toSorted()).toEqual([
    ...['fulfilled', 'rejected', 'rejected', 'rejected'],
  ])
  expect(served.status).toBe(200)
})

test('if one address is in use, the others are free again', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  await using other = await startTestServer()
  const { host } = new URL(other.url)

  await expect(startTestServer({ settings: { LISTEN: `unix:${path},${host}` } })).rejects.toThrow(
    `GATEHOUSE_LISTEN: cannot listen on ${host}: EADDRINUSE: another program listens there; stop it, or set another address`,
  )

  expect(existsSync(path)).toBe(false)
})

test('a client of a second address that has ended its side still gets its response', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  await using _server = await startTestServer({ settings: { LISTEN: `127.0.0.1:0,unix:${path}` } })
  const socket = connect(path)
  let received = ''
  socket.on('data', (bytes) => (received += bytes.toString()))

  socket.end(head('LIST', '/v1/sys/policies/acl', ['X-Vault-Token: root']))
  await once(socket, 'close')

  expect(received).toMatch(/^HTTP\/1\.1 (?:100 Continue[\s\S]*HTTP\/1\.1 )?200 OK/)
})

test('the peers of a Unix socket name the client if the word unix is among the trusted proxies', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  await using server = await startTestServer({
    settings: { LISTEN: `127.0.0.1:0,unix:${path}`, TRUSTED_PROXIES: '10.0.0.0/8,unix' },
  })
  await server.root.write('auth/token/roles/near', { token_bound_cidrs: '192.0.2.0/24' })
  const made = await server.root.write('auth/token/create/near', { policies: ['default'] })
  const token = String(made.body['auth']?.['client_token'])
  const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
  const local = new Client(`unix:${path}`, token)

  const near = await local.read('auth/token/lookup-self', from('192.0.2.7'))
  const far = await local.read('auth/token/lookup-self', from('198.51.100.7'))
  const untrusted = await server.as(token).read('auth/token/lookup-self', from('192.0.2.7'))

  expect([near.status, far.status, untrusted.status]).toEqual([200, 403, 403])
})

/** Asks as a user whose only group is this one. */
function asUser(path: string, { uid, gid }: { uid: number; gid: number }): string {
  const ask = ['--silent', '--show-error', '--unix-socket', path, 'http://localhost/health/live']
  const asked = spawnSync('curl', ask, { uid, gid, encoding: 'utf8' })
  return asked.stdout + asked.stderr
}

test.skipIf(process.getuid?.() !== 0)(
  'a second user opens the Unix socket of a server as a member of its group, and no other user does',
  async () => {
    await using folder = await temporaryFolder()
    chmodSync(folder.path, 0o711)
    const path = folder.file('gate.sock')
    const settings = { LISTEN: `unix:${path}`, UNIX_SOCKET_MODE: '0660', UNIX_SOCKET_GROUP: '64123' }
    await using _server = await startProcess({ folder: folder.path, args: ['--dev'], settings })

    const member = asUser(path, { uid: 64001, gid: 64123 })
    const stranger = asUser(path, { uid: 64001, gid: 64001 })

    expect(JSON.parse(member)).toEqual({ status: 'live' })
    expect(stranger).toMatch(/^curl: \(7\)/)
    expect(statSync(path)).toMatchObject({ uid: 0, gid: 64123 })
  },
)

test('a group that does not exist is refused, and nothing is left of the socket', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gate.sock')
  const settings = { LISTEN: `unix:${path}`, UNIX_SOCKET_GROUP: 'no-such-group' }

  await expect(startTestServer({ settings })).rejects.toThrow(
    `GATEHOUSE_LISTEN: cannot listen on unix:${path}: /etc/group has no group no-such-group`,
  )

  expect(readdirSync(folder.path)).toEqual([])
})

test('a socket that everyone may open is refused if its peers may name clients', async () => {
  await using folder = await temporaryFolder()
  const settings = { UNIX_SOCKET_MODE: '0666', TRUSTED_PROXIES: 'unix' }

  await expect(
    startTestServer({ settings: { LISTEN: `unix:${folder.file('gate.sock')}`, ...settings } }),
  ).rejects.toThrow('GATEHOUSE_UNIX_SOCKET_MODE: with unix among GATEHOUSE_TRUSTED_PROXIES, everyone')
})
