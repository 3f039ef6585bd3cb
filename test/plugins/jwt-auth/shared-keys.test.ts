import { expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import type { Client } from '../../support/client.ts'
import { startInFolder } from '../../support/folder-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { providerTls } from './certificates.ts'
import { jwksOf, type Provider, startProvider } from './provider.ts'
import { aSigner } from './signer.ts'

const well = '/.well-known/openid-configuration'
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'bob' }
const signer = aSigner('ES256', { kid: 'a' })
const token = (by = signer) => by.sign({ sub: 'bob', iat: Math.floor(Date.now() / 1000) })

async function startIssuer(): Promise<Provider> {
  const issuer = await startProvider({ '/keys': jwksOf(signer) })
  issuer.routes.set(well, { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` })
  return issuer
}

async function addMount(root: Client, path: string, config: object): Promise<void> {
  const answers = [
    await root.write(`sys/auth/${path}`, { type: 'jwt' }),
    await root.write(`auth/${path}/config`, config),
    await root.write(`auth/${path}/role/ci`, role),
  ]
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
}

const logIn = async (server: { anonymous: Client }, mount: string, jwt = token()) =>
  (await server.anonymous.write(`auth/${mount}/login`, { role: 'ci', jwt })).status

test('after a restart 50 mounts on one issuer log in at once, with one fetch of the document and one of the keys', async () => {
  await using issuer = await startIssuer()
  await using folder = await temporaryFolder()
  const mounts = Array.from({ length: 50 }, (_, at) => `m${at}`)
  {
    await using server = await startInFolder({ folder: folder.path })
    const root = server.as(server.rootToken)
    await Promise.all(mounts.map((mount) => addMount(root, mount, { oidc_discovery_url: issuer.url })))
  }
  issuer.hits.length = 0

  await using server = await startInFolder({ folder: folder.path })
  const statuses = await Promise.all(mounts.map((mount) => logIn(server, mount)))

  expect(statuses.filter((status) => status !== 200)).toEqual([])
  expect(issuer.hits).toEqual([well, '/keys'])
})

test('mounts with other roots for the same URL share nothing', async () => {
  await using issuer = await startIssuer()
  await using server = await borrowServer()
  for (const [mount, oidc_discovery_ca_pem] of [
    ['a', ''],
    ['b', ''],
    ['c', providerTls.cert],
  ] as const) {
    await addMount(server.root, mount, { oidc_discovery_url: issuer.url, oidc_discovery_ca_pem })
  }
  issuer.hits.length = 0

  expect(await Promise.all(['a', 'b', 'c'].map((mount) => logIn(server, mount)))).toEqual([200, 200, 200])
  expect(issuer.hits.filter((path) => path === '/keys')).toHaveLength(2)
})

test('many mounts that are created and used in sequence are all served', async () => {
  await using issuer = await startIssuer()
  await using server = await borrowServer()
  for (let at = 0; at < 25; at++) {
    await addMount(
      server.root,
      `m${at}`,
      at % 2 === 0 ? { jwks_url: `${issuer.url}/keys` } : { oidc_discovery_url: issuer.url },
    )

    expect(await logIn(server, `m${at}`)).toBe(200)
  }
})

test('unknown key ids at one mount, however many, do not prevent other logins', async () => {
  await using issuer = await startIssuer()
  await using server = await borrowServer()
  await addMount(server.root, 'theirs', { oidc_discovery_url: issuer.url })
  for (let count = 0; count < 30; count++)
    expect(await logIn(server, 'theirs', token(aSigner('ES256', { kid: `x${count}` })))).toBe(400)
  // of the configuration's check, the first fetch, and ten because of unknown ids
  expect(issuer.hits.filter((path) => path === '/keys')).toHaveLength(12)

  await addMount(server.root, 'mine', { oidc_discovery_url: issuer.url })

  expect(await logIn(server, 'mine')).toBe(200)
  expect(await logIn(server, 'theirs')).toBe(200)
})

test('unknown key ids at a mount with other roots do not keep this one from rotated keys', async () => {
  await using issuer = await startIssuer()
  await using server = await borrowServer()
  await addMount(server.root, 'theirs', {
    oidc_discovery_url: issuer.url,
    oidc_discovery_ca_pem: providerTls.cert,
  })
  await addMount(server.root, 'mine', { oidc_discovery_url: issuer.url })
  expect([await logIn(server, 'theirs'), await logIn(server, 'mine')]).toEqual([200, 200])
  for (let count = 0; count < 12; count++)
    await logIn(server, 'theirs', token(aSigner('ES256', { kid: `x${count}` })))
  const rotated = aSigner('ES256', { kid: 'b' })
  issuer.routes.set('/keys', jwksOf(rotated))

  expect(await logIn(server, 'mine', token(rotated))).toBe(200)
})

test('a newly written configuration uses no earlier keys, while other mounts keep theirs if the provider is down', async () => {
  await using issuer = await startIssuer()
  await using server = await borrowServer()
  const config = { oidc_discovery_url: issuer.url }
  for (const mount of ['a', 'b']) await addMount(server.root, mount, config)
  expect([await logIn(server, 'a'), await logIn(server, 'b')]).toEqual([200, 200])

  issuer.routes.set('/keys', (answer) => answer.writeHead(503).end())
  expect((await server.root.write('auth/a/config', config)).status).toBe(200)
  expect([await logIn(server, 'a'), await logIn(server, 'b')]).toEqual([400, 200])
  // the key was withdrawn because somebody stole it: the newly configured mount no longer accepts it
  issuer.routes.set('/keys', jwksOf(aSigner('ES256', { kid: 'b' })))
  expect(await logIn(server, 'a')).toBe(400)
})
