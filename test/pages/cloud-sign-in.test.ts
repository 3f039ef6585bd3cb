import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Issuer, startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { makeCertificates } from '../../simulators/directory/certificates.ts'
import type { Directory } from '../../simulators/directory/directory.ts'
import { listen, stop } from '../../simulators/loopback.ts'
import { type CloudFixture, startCloudFixture } from '../plugins/cloud/cloud-fixture.ts'
import { aCredential, aRole, revoke, works } from '../plugins/cloud/credential-steps.ts'
import { startAdministrator } from './administrator.ts'
import { openGuide, openShell } from './page.ts'

const audience = 'api://AzureADTokenExchange'
const page = 'docs/cloud-sign-in.md'
const leaving = 'Leaving `client_secret` without an outage'
const publishing = 'Publish two documents'

const stack = new AsyncDisposableStack()
let house: CloudFixture
let cluster: Issuer
let front: Front
let guide: ReturnType<typeof openGuide>
let shell: Awaited<ReturnType<typeof openShell>>
let tokenFile: string
let administrator: Awaited<ReturnType<typeof startAdministrator>>

beforeAll(async () => {
  shell = stack.use(await openShell())
  cluster = stack.use(await startIssuer({ algorithms: ['RS256'], now: () => house.clock.now() }))
  front = stack.use(await startFront())
  tokenFile = shell.file('token-of-the-pod')
  const authorities = shell.file('authorities.pem')
  house = stack.use(
    await startCloudFixture({
      configured: false,
      host: (directory: Directory) => {
        writeFileSync(authorities, `${directory.ca}\n${front.ca}`)
        return {
          CLOUD_CA_FILE: authorities,
          CLOUD_METADATA_ENDPOINT: directory.metadataUrl,
          AZURE_FEDERATED_TOKEN_FILE: tokenFile,
        }
      },
    }),
  )
  const { directory, server } = house
  // the cloud keeps no keys of an issuer, so that a fault shows at once
  directory.change({ issuers: { ca: front.ca, cacheSeconds: 0 }, metadata: { systemAssigned: false } })
  administrator = stack.use(await startAdministrator(directory, { clusterIssuer: cluster.url }))
  Object.assign(shell.variables, {
    VAULT_ADDR: server.url,
    VAULT_TOKEN: 'root',
    AZ_URL: administrator.url,
    CLIENT_ID: directory.rootClientId,
    CLIENT_SECRET: directory.rootClientSecret,
    KEY_ID: directory.rootSecretKeyId,
    TENANT_ID: directory.tenantId,
    SUBSCRIPTION_ID: directory.subscriptionId,
    GROUP: 'production',
    CLUSTER: 'main',
    MACHINE: 'gatehouse',
    IDENTITY_CLIENT_ID: directory.userAssignedIdentities[0].clientId,
    NODE_EXTRA_CA_CERTS: authorities,
  })
  guide = openGuide(page, {
    'https://gatehouse.example.com': front.url,
    'https://login.microsoftonline.com': directory.authorityUrl,
  })
  await house.root.write('cloud/config', house.config({ rotation_period: '720h' }))
  await aRole(house, 'deploy')
  await renewToken()
})
afterAll(() => stack.disposeAsync())

type Front = AsyncDisposable & {
  readonly url: string
  /** The authority of its certificate. */
  readonly ca: string
  /** Instead of the server's answer. */
  answer: ((response: ServerResponse) => void) | undefined
  /** Whether it returns for ever what it has once fetched. */
  keeps: boolean
}

/** A proxy that publishes what the page says. */
async function startFront(): Promise<Front> {
  const { ca, cert, key } = makeCertificates()
  const locations = new Set(
    [
      ...readFileSync(page, 'utf8').matchAll(
        /^location = (\S+) +\{ proxy_pass https:\/\/gatehouse:8200; \}$/gm,
      ),
    ].map(([, path]) => path),
  )
  const kept = new Map<string, string>()
  const fetched = async (path: string) => (await house.server.anonymous.call('GET', path)).text
  const server = createServer({ cert, key }, ({ url: path = '' }, response) => {
    if (opened.answer !== undefined) opened.answer(response)
    else if (!locations.has(path)) response.writeHead(404).end()
    else
      void Promise.resolve((opened.keeps && kept.get(path)) || fetched(path)).then((text) => {
        kept.set(path, text)
        response.end(text)
      })
  })
  const opened: Front = {
    url: `https://localhost:${await listen(server, 0)}`,
    ca,
    answer: undefined,
    keeps: false,
    [Symbol.asyncDispose]: () => stop(server),
  }
  return opened
}

/** What the platform does with the token of a pod. */
async function renewToken(claims: Record<string, unknown> = {}, options = {}): Promise<void> {
  const place = { namespace: 'gatehouse', serviceaccount: { name: 'gatehouse' } }
  writeFileSync(
    tokenFile,
    await cluster.signPipeline('kubernetes', { aud: [audience], 'kubernetes.io': place, ...claims }, options),
  )
}

type Check = { readonly name: string; readonly ok: boolean; readonly detail: string; readonly fix: string }

async function checked(): Promise<Record<string, Check>> {
  const { body } = await house.root.read('cloud/config/check')
  const checks = body.data?.['checks'] as unknown as Check[]
  return Object.fromEntries(checks.map((check) => [check.name, check]))
}

const failed = async () => Object.values(await checked()).filter(({ ok }) => !ok)

/** Runs the last command of a fix. */
const runFix = (fix: string) => shell.run(/^(?:.*: )?(az .*)$/s.exec(fix)?.[1] ?? fix)

const [rotationOff, stepBack, removal] = [0, 1, 2]
const runStep = (step: number) => shell.run(guide.blocks(leaving)[step] ?? '')

/** Moves the mount from its secret to what a section describes, and removes the secret. */
async function move(section: string, type: string): Promise<void> {
  const blocks = guide.blocks(section)
  for (const block of blocks.slice(0, -1)) await shell.run(block)
  expect(await failed()).toEqual([])
  expect((await checked())['auth_type']?.detail).toBe('root_creds')
  const before = await aCredential(house, 'deploy')

  await runStep(rotationOff)
  const { output } = await shell.run(blocks.at(-1) ?? '')

  expect(output).toContain(`{"name":"auth_type","ok":true,"detail":"${type}","fix":""}`)
  expect(output).toContain('{"ok":true,"checks":[')
  expect((await runStep(removal)).output).toContain(shell.variables['KEY_ID'])
  await forgetTokens()
  expect(await failed()).toEqual([])
  expect((await revoke(house, before.lease)).status).toBe(204)
  const after = await aCredential(house, 'deploy')
  expect(await works(house, after)).toBe(true)
  expect((await revoke(house, after.lease)).status).toBe(204)
}

/** A write of the configuration drops the access tokens of the mount. */
const forgetTokens = () => house.root.write('cloud/config', {})

/** The application gets a new secret, and the mount signs in with it, as the page says. */
async function goBack(): Promise<void> {
  const { admin, rootApplicationId } = house.directory
  const { secretText, keyId } = admin.addPassword(rootApplicationId, { lifetimeSeconds: 400 * 86_400 })
  Object.assign(shell.variables, { CLIENT_SECRET: secretText, KEY_ID: keyId })
  await runStep(stepBack)
  expect(await failed()).toEqual([])
}

type Fault = {
  readonly code: string
  readonly cause: string | (() => string)
  make(): unknown
  /** Default: runs the command. */
  readonly repair?: (fix: string) => unknown
  /** What the fix says, if it is no command. */
  readonly fix?: () => string
}

type Trust = { readonly issuer: string; readonly subject: string; readonly audience: string }

/** What an application is to trust. */
type Meant = Trust & { readonly clientId: string }

/** What an administrator gets wrong in a trust. */
const wrongTrusts: readonly {
  readonly code: string
  readonly cause: string
  readonly wrong: (right: Trust) => Partial<Trust>
}[] = [
  {
    code: 'AADSTS700211',
    cause: 'the issuer is not trusted',
    wrong: ({ issuer }) => ({ issuer: `${issuer}/` }),
  },
  {
    code: 'AADSTS700213',
    cause: 'the subject is not trusted',
    wrong: ({ subject }) => ({ subject: `${subject}0` }),
  },
  {
    code: 'AADSTS700212',
    cause: 'the audience is not trusted',
    wrong: () => ({ audience: 'api://gatehouse' }),
  },
  {
    code: 'AADSTS7002138',
    cause: 'the trust differs in upper and lower case',
    wrong: ({ subject }) => ({ subject: subject.toUpperCase() }),
  },
]

/** Replaces the trusts of an application by one that is wrong, with the name of the right one. */
async function mistrust(
  { clientId, ...right }: Meant,
  wrong: (right: Trust) => Partial<Trust>,
): Promise<void> {
  const known = house.directory
    .inventory()
    .filter(({ kind, clientId: holder }) => kind === 'federated-credential' && holder === clientId)
  for (const { id } of known) house.directory.admin.remove(id)
  house.clock.advance(60)
  const { audience: sent, ...trust } = { ...right, ...wrong(right) }
  await administrator.trust(clientId, { ...trust, audiences: [sent], name: known[0]?.name ?? 'gatehouse' })
}

/** What the root application is to trust. */
const trustOfRoot = (issuer: string, subject: string): Meant => ({
  issuer,
  subject,
  audience,
  clientId: house.directory.rootClientId,
})

const identityOfMount = async () =>
  (await house.root.read('cloud/config/identity')).body.data as never as Readonly<
    Record<'issuer' | 'subject' | 'role_subject', string>
  >

const clock: Fault = {
  code: 'AADSTS700024',
  cause: 'the assertion is outside its time',
  make: () => house.directory.change({ clockOffsetSeconds: 7200 }),
  fix: () =>
    'set the clock of this server, which is 7200 s behind that of the cloud; see clock_offset in config/check',
  repair: async () => {
    expect((await checked())['clock_offset']).toMatchObject({ ok: false, detail: 'upstream is 7200 s ahead' })
    house.directory.change({ clockOffsetSeconds: 0 })
    house.clock.advance(7200)
  },
}

/** Breaks the sign-in, and repairs it as the responses say. */
async function breakAndRepair({ code, make, fix, repair = runFix, ...fault }: Fault): Promise<void> {
  const cause = typeof fault.cause === 'string' ? fault.cause : fault.cause()
  await make()
  await forgetTokens()

  const { sign_in: signIn } = await checked()
  const { status, text } = await house.root.read('cloud/creds/deploy')

  expect(signIn).toMatchObject({ name: 'sign_in', ok: false })
  expect(signIn?.detail).toMatch(new RegExp(`^${code}: `))
  expect(signIn?.detail).toContain(`: ${cause}; fix: ${signIn?.fix}`)
  expect([status, JSON.parse(text).errors[0]]).toEqual([
    400,
    expect.stringContaining(`: ${cause}; fix: ${signIn?.fix}`),
  ])
  if (fix !== undefined) expect(signIn?.fix).toBe(fix())
  await repair(signIn?.fix ?? '')
  expect(await failed()).toEqual([])
  told.add(code)
}

/** The codes that the faults below have shown. */
const told = new Set<string>()

describe('with an identity token of the mount', () => {
  beforeAll(async () => {
    await shell.run(guide.blocks(publishing).join('\n'))
    await move('With an identity token of the mount', 'plugin_wif')
  })
  afterAll(goBack)

  test('the proxy publishes the two documents and nothing else', async () => {
    const get = (path: string) =>
      shell.run(`curl ${front.url}${path}`).then(({ requests }) => requests[0]?.slice(0, 3))

    expect(
      await Promise.all(['/v1/sys/health', '/v1/identity/oidc/.well-known/keys', '/ui/'].map(get)),
    ).toEqual([...['404', '404', '404']])
  })

  const unreachable = (code: string, answer: Front['answer']): Fault => ({
    code,
    cause: () => `the cloud cannot reach the issuer ${issuer()}`,
    make: () => Object.assign(front, { answer }),
    fix: () =>
      `make ${issuer()}/.well-known/openid-configuration and ${issuer()}/.well-known/keys public over https, and nothing else`,
    repair: () => {
      front.answer = undefined
    },
  })
  const issuer = () => `${front.url}/v1/identity/oidc/plugins`

  test.each([
    ...wrongTrusts.map(({ wrong, ...fault }) => ({
      ...fault,
      make: async () => {
        const { issuer: ours, subject } = await identityOfMount()
        await mistrust(trustOfRoot(ours, subject), wrong)
      },
    })),
    clock,
    unreachable('AADSTS50166', (response) => response.destroy()),
    {
      ...unreachable('AADSTS501661', (response) => response.writeHead(403).end()),
      repair: async () => {
        const [, look = ''] = guide.blocks(publishing)
        await expect(shell.run(look)).rejects.toThrow()
        front.answer = undefined
        expect((await shell.run(look)).output).toContain(`"issuer":"${issuer()}"`)
      },
    },
    unreachable('AADSTS90061', (response) => response.end('<html>')),
  ])('$code is told and repaired', breakAndRepair)

  test('AADSTS7000272 is told after 30 s, and repaired', async () => {
    await checked()
    front.keeps = true
    let begun = 0
    await breakAndRepair({
      code: 'AADSTS7000272',
      cause: 'the key that signed is not among the published ones',
      make: async () => {
        await checked()
        for (let times = 0; times < 2; times++) await house.root.write('identity/oidc/key/default/rotate', {})
        begun = house.clock.now()
      },
      repair: async (fix) => {
        expect(house.clock.now() - begun).toBeGreaterThanOrEqual(30_000)
        const [, keyId = 'none'] = /must list the kid (\S+)$/.exec(fix) ?? []
        const listed = async () =>
          (await shell.run(`curl ${issuer()}/.well-known/keys`)).output.includes(keyId)
        expect(await listed()).toBe(false)
        front.keeps = false
        expect(await listed()).toBe(true)
      },
    })
  })
})

/** The certificate of the root application. */
const removeCertificates = () => {
  const { admin, rootClientId } = house.directory
  for (const { id } of house.directory
    .inventory()
    .filter(({ kind, clientId }) => kind === 'certificate' && clientId === rootClientId))
    admin.remove(id)
}

const missing: Fault = {
  code: 'AADSTS700027',
  cause: 'the certificate is not on the application',
  make: removeCertificates,
  repair: async (fix) => {
    await shell.run('vault read -field=certificate cloud/config/certificate > gatehouse-root.pem')
    await runFix(fix)
  },
}

describe('with a certificate that the operator has', () => {
  beforeAll(async () => {
    // openssl makes one that is valid from now on
    house.clock.advance(Math.ceil(Math.max(0, Date.now() - house.clock.now()) / 1000) + 60)
    await move('With a certificate that you have', 'certificate')
  })
  afterAll(goBack)

  test('AADSTS700027 is told and repaired', () => breakAndRepair(missing))
})

describe('with a certificate', () => {
  beforeAll(() => move('With a certificate', 'certificate'))
  afterAll(goBack)

  test.each([missing, clock])('$code is told and repaired', breakAndRepair)

  test('one that has ended is told as AADSTS700027, and replaced', async () => {
    const { body } = await house.root.read('cloud/config/certificate')
    const expiration = String(body.data?.['expiration'])
    await breakAndRepair({
      code: 'AADSTS700027',
      cause: `the certificate ended ${expiration}`,
      make: () => house.clock.advance((Date.parse(expiration) - house.clock.now()) / 1000),
      repair: async (fix) => {
        expect(fix).toMatch(
          /^write config\/certificate, which makes another one, save it as gatehouse-root\.pem, then: az/,
        )
        await shell.run('vault write -f -field=certificate cloud/config/certificate > gatehouse-root.pem')
        await runFix(fix)
      },
    })
  })
})

describe('with a Kubernetes service account', () => {
  beforeAll(async () => {
    await renewToken()
    await move('With a Kubernetes service account', 'aks_wif')
  })
  beforeEach(() => renewToken())
  afterAll(goBack)

  const unreachable = (code: string, make: () => unknown): Fault => ({
    code,
    cause: () => `the cloud cannot reach the issuer ${cluster.url}`,
    make,
    fix: () =>
      `make ${cluster.url}/.well-known/openid-configuration and the keys that it names public over https, and nothing else`,
    repair: () => cluster.behave(),
  })

  const unacceptable = (code: string, make: () => Promise<void>): Fault => ({
    code,
    cause: 'the login service does not accept such tokens',
    make,
    fix: () =>
      `the platform that issues the assertion of ${cluster.url} must sign it with RS256 and name its key`,
    repair: () => renewToken(),
  })

  test.each([
    ...wrongTrusts.map(({ wrong, ...fault }) => ({
      ...fault,
      make: () => mistrust(trustOfRoot(cluster.url, 'system:serviceaccount:gatehouse:gatehouse'), wrong),
    })),
    { ...unreachable('AADSTS50166', () => cluster.goDown()), repair: () => cluster.comeBack() },
    unreachable('AADSTS501661', () => cluster.misbehave({ kind: 'status', status: 403 })),
    unreachable('AADSTS90061', () => cluster.misbehave({ kind: 'html' })),
    {
      code: 'AADSTS7000272',
      cause: 'the key that signed is not among the published ones',
      make: async () => {
        await cluster.rotate({ keepOld: false })
        await renewToken({}, { previousKey: true })
      },
      repair: () => renewToken(),
    },
    unacceptable('AADSTS50027', () => renewToken({ sub: undefined })),
    unacceptable('AADSTS5002738', () => renewToken({}, { algorithm: 'RS512' })),
    {
      code: 'AADSTS50013',
      cause: 'the signature of the assertion does not verify',
      make: () => {
        const signed = readFileSync(tokenFile, 'utf8')
        const forged = Buffer.alloc(256, 1).toString('base64url')
        writeFileSync(tokenFile, signed.replace(/[^.]+$/, forged))
      },
      repair: () => renewToken(),
    },
  ])('$code is told and repaired', breakAndRepair)

  test('a token that was not renewed is told as AADSTS700024', async () => {
    const ended = Math.floor(house.clock.now() / 1000) - 600
    await renewToken({ exp: ended })
    await breakAndRepair({
      code: 'AADSTS700024',
      cause: `the assertion ended ${new Date(ended * 1000).toISOString()}`,
      make: () => {},
      fix: () => 'the platform that issues it must renew it in time',
      repair: () => renewToken(),
    })
  })

  test('a token file that is missing is told', async () => {
    rmSync(tokenFile)

    const { token_file: file, sign_in: signIn } = await checked()

    expect(file).toMatchObject({ ok: false, detail: 'token_file: the token file cannot be used: ENOENT' })
    expect(file?.fix).toBe(
      'mount the token of the service account, and name it in AZURE_FEDERATED_TOKEN_FILE',
    )
    expect(signIn?.ok).toBe(false)
  })
})

describe('with the identity of the machine', () => {
  beforeAll(() => move('With the identity of the machine', 'msi'))
  afterAll(goBack)

  test.each([
    {
      name: 'no metadata service',
      make: () => house.directory.goDown('metadata'),
      said: 'no managed identity: the metadata endpoint does not answer',
      repair: () => house.directory.comeBack('metadata'),
    },
    {
      name: 'no identity',
      make: () => house.directory.change({ metadata: { systemAssigned: false } }),
      said: 'managed identity: invalid_request: ',
      repair: () => runIdentityCommands(),
    },
    {
      name: 'another client id',
      make: () => house.root.write('cloud/config', { client_id: 'unknown' }),
      said: 'managed identity: invalid_request: Identity not found',
      repair: () => house.root.write('cloud/config', { client_id: '' }),
    },
  ])('$name is told', async ({ make, said, repair }) => {
    await make()
    await forgetTokens()

    const { metadata, sign_in: signIn } = await checked()
    const { status, text } = await house.root.read('cloud/creds/deploy')

    expect(metadata).toMatchObject({ ok: false, detail: expect.stringContaining(said) })
    expect(metadata?.fix).toMatch(/^assign a managed identity/)
    expect(signIn?.detail).toContain(said)
    expect([status, JSON.parse(text).errors[0]]).toEqual([400, expect.stringContaining(said)])
    await repair()
    expect(await failed()).toEqual([])
  })

  /** What `sign_in` refers to. */
  const runIdentityCommands = async () => {
    const { body } = await house.root.read('cloud/config/identity')
    const commands = body.data?.['commands'] as unknown as string[]
    const assign = commands[0] ?? ''
    await shell.run(assign.replace('<group>', 'production').replace('<machine>', 'gatehouse'))
  }
})

describe('with a managed identity that an application trusts', () => {
  beforeAll(() => move('With a managed identity that an application trusts', 'msi_wif'))
  afterAll(goBack)

  test.each([
    ...wrongTrusts.map(({ wrong, ...fault }) => ({
      ...fault,
      make: () => {
        const { authorityUrl, tenantId, userAssignedIdentities } = house.directory
        const [{ servicePrincipalId }] = userAssignedIdentities
        return mistrust(trustOfRoot(`${authorityUrl}/${tenantId}/v2.0`, servicePrincipalId), wrong)
      },
    })),
    {
      code: 'AADSTS700222',
      cause: 'tokens of this identity are not accepted as assertions',
      make: async () => {
        house.directory.change({ metadata: { systemAssigned: true } })
        const { clientId } = house.directory.systemAssignedIdentity
        await house.root.write('cloud/config', { managed_identity_client_id: clientId })
      },
      repair: async (fix: string) => {
        const { output } = await runFix(fix)
        const clientId = output.split(/\s/)[1]
        await house.root.write('cloud/config', { managed_identity_client_id: clientId })
      },
    },
  ])('$code is told and repaired', breakAndRepair)
})

describe('a federated role', () => {
  const scope = 'https://graph.microsoft.com/.default'
  const applications: Record<string, { id: string; appId: string }> = {}
  const request = (role: string) => house.root.write(`cloud/token/${role}`, { scope, fresh: true })

  beforeAll(async () => {
    const { admin, rootServicePrincipalId } = house.directory
    for (const role of ['made', 'prepared']) applications[role] = admin.addApplication({ displayName: role })
    const { made = { id: '', appId: '' }, prepared } = applications
    admin.addOwner(made.id, rootServicePrincipalId)
    const type = { credential_type: 'federated' }
    await house.root.write('cloud/roles/made', { ...type, application_object_id: made.id })
    await house.root.write('cloud/roles/prepared', { ...type, federated_client_id: prepared?.appId })
  })

  test.each(
    wrongTrusts.flatMap((fault) => [
      {
        ...fault,
        role: 'prepared',
        how: 'by the command',
        fix: /(?<command>az ad app federated-credential .*)$/,
      },
      {
        ...fault,
        role: 'made',
        how: 'by another write',
        fix: /^write the role again, which renews the trust: (?<command>vault write -f .*)$/,
      },
    ]),
  )('$code of a role that is $role is told by token and creds, and repaired $how', async (fault) => {
    const { issuer, role_subject: subject } = await identityOfMount()
    const { appId: clientId = '' } = applications[fault.role] ?? {}
    const right = { issuer, subject: subject.replace('<role>', fault.role), audience }
    await mistrust({ ...right, clientId }, fault.wrong)
    // what is new is retried
    house.clock.advance(601)

    const asked = await Promise.all([
      request(fault.role),
      house.root.read(`cloud/creds/${fault.role}?wait=ready&wait_limit=1s&on_timeout=revoke`),
    ])

    for (const { status, text } of asked) {
      const said = String(JSON.parse(text).errors[0])
      expect([status, said]).toEqual([400, expect.stringMatching(new RegExp(`^${fault.code}: `))])
      expect(said).toContain(`: ${fault.cause}; fix: `)
    }
    const fix = String(JSON.parse(asked[0].text).errors[0]).split('; fix: ')[1] ?? ''
    await runFix(fault.fix.exec(fix)?.groups?.['command'] ?? `nothing to run in: ${fix}`)
    expect((await request(fault.role)).text).toContain('"access_token":"')
  })
})

test('each command of the page was run, and each code of its table was told', () => {
  expect(guide.unread()).toEqual([])
  const codes = new Set(guide.text.match(/AADSTS\d+/g))
  // the cloud says so while a new trust spreads: see test/plugins/cloud/federation
  codes.delete('AADSTS70021')
  // of a token that a certificate signed elsewhere: see test/plugins/cloud/sign-in
  for (const code of ['AADSTS700021', 'AADSTS700023']) codes.delete(code)
  expect([...told].sort()).toEqual([...codes].sort())
})
