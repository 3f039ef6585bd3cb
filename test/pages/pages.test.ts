import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { startTestServer } from '../support/start-server.ts'
import { openGuide, openShell, readPage } from './page.ts'

const project = join(import.meta.dirname, '../..')
const patience = { timeout: 90_000 }

const refused = (requests: readonly string[]) => requests.filter((line) => !line.startsWith('20'))

test('the commands of README.md do what it says', patience, async () => {
  await using issuer = await startIssuer({ controls: true })
  await using server = await startTestServer()

  const { requests, output, programs } = await readPage('README.md', {
    filledIn: { 'http://127.0.0.1:8200': server.url, 'http://127.0.0.1:9000': issuer.url, 'hvs.…': 'root' },
  })

  expect(refused(requests)).toEqual(['400 POST /v1/auth/jwt/login'])
  expect(output).toContain('"policies":["default","deploy"]')
  expect(output).toMatch(/^s3cret$/m)
  expect(output).toMatch(
    /^FAIL {2}bound_claims: bound_claim_mismatch \(repository\)\n +expected {2}"acme\/shop"\n +seen {6}"acme\/fork"$/m,
  )
  expect(programs.join('').match(/^npm .*?(?= {2}|$)/gm)).toEqual([
    'npm ci && npm start',
    'npm ci && npm test',
    'npm run issuer -- --port 9000',
  ])
})

test('the commands of docs/tour.md do what it says', patience, async () => {
  await using issuer = await startIssuer()
  await using directory = await startDirectory()
  await using server = await startTestServer({
    environment: {
      CLOUD_AUTHORITY_HOST: directory.authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
      CLOUD_CA_FILE: directory.caFile,
    },
  })

  await server.root.write('auth/jwt/config', { oidc_discovery_url: issuer.url })
  await server.root.write('sys/policies/acl/deploy', {
    policy: 'path "auth/jwt/role/*" { capabilities = ["read"] }',
  })

  const { requests, output, programs } = await readPage('docs/tour.md', {
    filledIn: { 'http://127.0.0.1:8200': server.url, 'hvs.…': 'root' },
    // what `npm run directory` prints for this terminal
    environment: {
      CA_FILE: directory.caFile,
      LOGIN: `${directory.authorityUrl}/${directory.tenantId}`,
      MANAGER: directory.resourceManagerUrl,
      TENANT_ID: directory.tenantId,
      SUBSCRIPTION_ID: directory.subscriptionId,
      CLIENT_ID: directory.rootClientId,
      CLIENT_SECRET: directory.rootClientSecret,
    },
  })

  expect(refused(requests)).toEqual([`400 POST /${directory.tenantId}/oauth2/v2.0/token`])
  expect(requests.filter((line) => line.includes('/v1/')).length).toBeGreaterThan(15)
  expect(output).toContain('"policies":["default","deploy"]')
  expect(output).toContain('"access_token":"')
  expect(output).toContain('AADSTS700016')
  expect(directory.debris()).toEqual([])
  expect(programs).toEqual(['npm run directory\n'])
})

test('the commands of docs/messages.md schedule a banner', patience, async () => {
  await using server = await startTestServer()

  const { requests, output } = await readPage('docs/messages.md', {
    filledIn: { 'http://127.0.0.1:8200': server.url, 'ROOT=…': 'ROOT=root' },
  })

  expect(refused(requests)).toEqual([])
  expect(output.match(/"severity":"warning"/g)?.length).toBeGreaterThan(1)
})

test(
  'the commands of docs/kv.md, docs/approle.md and docs/userpass.md work as they are',
  patience,
  async () => {
    await using server = await startTestServer()
    const filledIn = { 'http://127.0.0.1:8200': server.url, 'hvs.…': 'root' }

    const secrets = await readPage('docs/kv.md', { filledIn: { ...filledIn, 'wait=60s': 'wait=1s' } })
    const machines = await readPage('docs/approle.md', { filledIn })
    await using shell = await openShell()
    const [people = ''] = openGuide('docs/userpass.md', filledIn).blocks('Names and passwords')
    const logins = await shell.run(people)

    expect(refused(secrets.requests)).toEqual(['304 GET /v1/team/data/shop/mail?wait=1s'])
    expect(refused([...machines.requests, ...logins.requests])).toEqual([])
    expect((await server.root.read('team/data/store/mail?version=3')).body['data']?.['data']).toEqual({
      username: 'shop',
      password: 'n3w',
      host: 'smtp.example.com',
    })
    expect(machines.output).toContain('"policies":["default","shop"]')
    expect(logins.output).toContain('"policies":["default","deploy"]')
  },
)

test('the commands of docs/explain.md explain a failed login', patience, async () => {
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using server = await startTestServer()
  await server.root.write('auth/jwt/config', { oidc_discovery_url: issuer.url })
  await server.root.write('auth/jwt/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gatehouse',
  })
  const JWT = await issuer.signPipeline('github', { aud: 'Gatehouse' })

  const { requests, output } = await readPage('docs/explain.md', {
    filledIn: { 'http://127.0.0.1:8200': server.url, 'hvs.…': 'root', 'eyJ…': JWT },
  })

  expect(refused(requests)).toEqual(['400 POST /v1/auth/jwt/login'])
  expect(requests).toContain('200 GET /v1/auth/jwt/explain')
  expect(requests.at(-1)).toBe('200 POST /v1/auth/jwt/role/ci/what-if')
  expect(output).toContain('"refusals":{"tried":1,"would_succeed":1,')
  expect(output).toContain('"check":"audience","reason":"audience_mismatch","expected":["gatehouse"]')
  expect(output).toContain('"hint":"differs_in_case"')
  expect(output.match(/^FAIL {2}audience: audience_mismatch \(aud\)/gm)).toHaveLength(2)
})

test(
  'the commands of simulators/directory/README.md inspect the stand-in for the cloud',
  patience,
  async () => {
    await using directory = await startDirectory({ controls: true })

    const { requests, output } = await readPage('simulators/directory/README.md', {
      filledIn: { 'http://127.0.0.1:9303': directory.controlUrl ?? '' },
    })

    expect(refused(requests)).toEqual([])
    expect(output).toContain('"displayName":"mine"')
  },
)

const pages = [
  '.',
  'docs',
  'docs/contract',
  'docs/decisions',
  'docs/providers',
  'simulators/directory',
].flatMap((folder) =>
  readdirSync(join(project, folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file)),
)

test.each(pages)('%s: every link leads somewhere', (page) => {
  const text = readFileSync(join(project, page), 'utf8')
  const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]

  const broken = links.filter(([, target = '', anchor]) => {
    const file = target === '' ? join(project, page) : join(project, dirname(page), target)
    if (!existsSync(file)) return true
    return anchor !== undefined && !anchorsOf(readFileSync(file, 'utf8')).has(anchor)
  })

  expect(broken.map(([link]) => link)).toEqual([])
})

/** The names by which headings can be linked to. */
const anchorsOf = (markdown: string): Set<string> =>
  new Set(
    [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
