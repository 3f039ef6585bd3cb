import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Authority } from '../../../support/certificates.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'

type Behave = (path: string, response: ServerResponse) => void

const folder = await temporaryFolder()
const authority = new Authority()

let fixture: CloudFixture
let front: Server
let base: string
let behave: Behave = () => {}

/** What the server itself publishes. */
const honest = async (path: string) => (await fixture.server.anonymous.call('GET', path)).text
const serve: Behave = (path, response) => void honest(path).then((text) => response.end(text))

beforeAll(async () => {
  front = createServer(authority.sign('front'), ({ url = '' }, response) => behave(url, response))
  const { promise, resolve } = Promise.withResolvers<void>()
  front.listen(0, '127.0.0.1', resolve)
  await promise
  base = `https://localhost:${(front.address() as AddressInfo).port}`
  const ca = folder.file('ca.pem')
  fixture = await startCloudFixture({
    host: (directory) => {
      writeFileSync(ca, `${directory.ca}\n${authority.cert}`)
      return { CLOUD_CA_FILE: ca }
    },
  })
  await fixture.root.write('identity/oidc/config', { issuer: base })
  await fixture.root.write('cloud/config', { client_secret: '', identity_token_audience: 'api://cloud' })
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  front.closeAllConnections()
  front.close()
  authority[Symbol.dispose]()
  await folder[Symbol.asyncDispose]()
})

type Check = { readonly name: string; readonly ok: boolean; readonly detail: string }

async function check(name: string, how: Behave = serve): Promise<unknown> {
  behave = how
  const { body } = await fixture.root.read('cloud/config/check')
  const checks = body.data?.['checks'] as unknown as Check[]
  const { ok, detail } = checks.find((one) => one.name === name) ?? {}
  return [ok, detail?.replaceAll(base, '<base>')]
}

const issuer = '<base>/v1/identity/oidc/plugins'
const isKeys = (path: string) => path.endsWith('/keys')

// docs/contract/cloud.md#preflight
describe('the check of the issuer', () => {
  test('is passed by what the server publishes', async () => {
    expect(await check('issuer')).toEqual([true, `${issuer} publishes 2 keys`])
  })

  const noDiscovery = `${issuer} serves no discovery document`
  const cases: { name: string; how: Behave; detail: string }[] = [
    {
      name: 'a redirect',
      how: (_path, response) => response.writeHead(302, { location: `${base}/elsewhere` }).end('{}'),
      detail: noDiscovery,
    },
    { name: 'a page', how: (_path, response) => response.end('<html>'), detail: noDiscovery },
    {
      name: 'an answer without end',
      how: (_path, response) => {
        const part = 'x'.repeat(65_536)
        const more = () => {
          while (response.write(part));
          response.once('drain', more)
        }
        more()
      },
      detail: noDiscovery,
    },
    {
      name: 'another issuer, of which it shows little',
      how: (_path, response) =>
        response.end(JSON.stringify({ issuer: `\n${'x'.repeat(100_000)}`, jwks_uri: '' })),
      detail: `${issuer} calls itself ${'x'.repeat(499)}`,
    },
    {
      name: 'keys that are elsewhere',
      how: (path, response) =>
        isKeys(path)
          ? response.writeHead(302, { location: `${base}/elsewhere` }).end('{"keys":[]}')
          : serve(path, response),
      detail: `${issuer}/.well-known/keys serves no keys`,
    },
    {
      name: 'more keys than the cloud keeps',
      how: (path, response) =>
        isKeys(path)
          ? response.end(JSON.stringify({ keys: Array.from({ length: 101 }, (_, at) => ({ kid: `${at}` })) }))
          : serve(path, response),
      detail: `${issuer}/.well-known/keys publishes 101 keys`,
    },
    {
      name: 'keys of which none signs',
      how: (path, response) =>
        isKeys(path) ? response.end('{"keys":[{"kid":"former"}]}') : serve(path, response),
      detail: `${issuer}/.well-known/keys does not publish the key that signs now`,
    },
  ]
  test.each(cases)('finds $name', async ({ how, detail }) => {
    expect(await check('issuer', how)).toEqual([false, detail])
  })
})

test('the check of the signing key finds one that rotates faster than the cloud fetches keys', async () => {
  await fixture.root.write('identity/oidc/key/hasty', {
    rotation_period: 1800,
    verification_ttl: 3600,
    allowed_client_ids: '*',
  })
  await fixture.root.write('sys/mounts/cloud/tune', { identity_token_key: 'hasty' })
  const hasty = await check('signing_key')
  await fixture.root.write('sys/mounts/cloud/tune', { identity_token_key: '' })

  expect(hasty).toEqual([
    false,
    'the key "hasty" changes every 1800 s: set its rotation_period to 3600 or more',
  ])
  expect(await check('signing_key')).toEqual([true, 'RS256, for api://cloud'])
})
