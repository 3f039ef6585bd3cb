import { X509Certificate } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemRandom } from '../../../../src/lib/system/random.ts'
import type { ClientCertificate } from '../../../../src/plugins/cloud/certificates/client-certificate.ts'
import { makeCertificate } from '../../../../src/plugins/cloud/certificates/make-certificate.ts'
import { rotateRoot } from '../../../../src/plugins/cloud/root-rotation/rotate-root.ts'
import { certificateProof } from '../../../../src/plugins/cloud/sign-in/assertions.ts'
import {
  makeRootCertificate,
  rootCertificate,
} from '../../../../src/plugins/cloud/sign-in/root-certificate.ts'
import { type EngineFixture, type EngineHouseOptions, openEngineFixture } from '../engine-fixture.ts'

const correlationId = 'c0ffee00-0000-4000-8000-000000000000'
const begin = Date.UTC(2026, 4, 5, 6, 7, 8)

let first: ClientCertificate
let ended: ClientCertificate

beforeAll(async () => {
  const wanted = { commonName: 'root', now: begin, random: systemRandom }
  first = await makeCertificate({ ...wanted, seconds: 90 * 86_400 })
  ended = await makeCertificate({ ...wanted, seconds: -60 })
})

/** An engine whose root signs in with a certificate that the application has. */
async function certified({ config = {}, ...options }: EngineHouseOptions = {}): Promise<EngineFixture> {
  const fixture = await openEngineFixture({
    ...options,
    config: { client_secret: '', certificate: first, ...config },
  })
  fixture.directory.admin.addCertificate(fixture.directory.rootApplicationId, first.certificate)
  return fixture
}

const rotate = ({ engine, mount }: EngineFixture) => rotateRoot(engine.work(mount, correlationId))

async function pass(fixture: EngineFixture, seconds: number): Promise<void> {
  fixture.clock.advance(seconds)
  await fixture.engine.rotation.looks.look()
  await fixture.state.intents.undoAll()
}

async function keysUpstream({ state, directory, clock }: EngineFixture): Promise<string[]> {
  const { directory: api } = await state.upstream()
  const call = { deadline: clock.now() + 60_000, correlationId }
  const { keyCredentials } = await api.getApplicationKeys(directory.rootApplicationId, call)
  return keyCredentials.map(({ keyId }) => keyId)
}

async function signsIn(fixture: EngineFixture, certificate: ClientCertificate): Promise<boolean> {
  const { tokens, settings } = await fixture.state.upstream()
  const proof = certificateProof(settings.clientId, certificate, {
    clock: fixture.clock,
    identifiers: systemRandom,
  })
  return tokens.prove(settings.clientId, proof, 'directory', {
    deadline: fixture.clock.now() + 60_000,
    correlationId,
  })
}

const events = ({ lines }: EngineFixture) =>
  lines.flatMap(({ fields }) => ('event' in fields ? fields.event : []))

// docs/contract/cloud.md#rotation-of-a-certificate
describe('rotate-root with a certificate', () => {
  test('adds a pending one, promotes it after a minute and removes the former one after another hour', async () => {
    await using fixture = await certified()

    await rotate(fixture)
    const { certificate: before, pending_certificate: pending } = await fixture.config()
    await pass(fixture, 60)
    const { certificate: after, pending_certificate: left } = await fixture.config()
    const during = [await signsIn(fixture, first), (await keysUpstream(fixture)).length]
    await pass(fixture, 3599)
    const early = (await keysUpstream(fixture)).length
    await pass(fixture, 2)

    const [added] = fixture.directory.journal.entries({ operation: 'addKey' })
    const proof = String(added?.body?.['proof'])
    const now = begin / 1000
    expect(added?.body).toEqual({
      keyCredential: {
        type: 'AsymmetricX509Cert',
        usage: 'Verify',
        key: new X509Certificate(String(pending?.certificate)).raw.toString('base64'),
        displayName: expect.stringMatching(/^gatehouse-root-cloud_1234abcd-[0-9a-f-]{36}$/),
      },
      passwordCredential: null,
      proof,
    })
    expect([decodeProtectedHeader(proof), decodeJwt(proof)]).toEqual([
      { alg: 'RS256', typ: 'JWT', x5t: Buffer.from(first.thumbprint, 'hex').toString('base64url') },
      {
        iss: fixture.directory.rootApplicationId,
        aud: '00000002-0000-0000-c000-000000000000',
        nbf: now,
        exp: now + 600,
      },
    ])
    expect(before).toEqual(first)
    expect(after).toMatchObject({ thumbprint: pending?.thumbprint, key_id: pending?.key_id })
    expect(left).toBeUndefined()
    expect([during, early]).toEqual([[true, 2], 2])
    expect(await keysUpstream(fixture)).toEqual([pending?.key_id])
    expect((await fixture.config()).retiring_keys).toBeUndefined()
    expect(await fixture.state.intents.all()).toEqual([])
    expect([await signsIn(fixture, first), after !== undefined && (await signsIn(fixture, after))]).toEqual([
      false,
      true,
    ])
    expect(JSON.stringify(fixture.lines)).not.toContain('PRIVATE KEY')
  })

  test.each(['lost', 'cut', 'empty'] as const)(
    'knows by a sign-in that it arrived if the answer is %s',
    async (kind) => {
      await using fixture = await certified()
      fixture.directory.fault({ kind, operation: 'addKey' })

      await rotate(fixture)
      await pass(fixture, 60)
      await pass(fixture, 3601)

      const { certificate } = await fixture.config()
      expect(certificate?.thumbprint).not.toBe(first.thumbprint)
      expect(await keysUpstream(fixture)).toHaveLength(1)
      expect(await fixture.state.intents.all()).toEqual([])
    },
  )

  test.each(['lost', 'cut'] as const)('ends if the answer to the removal is %s', async (kind) => {
    await using fixture = await certified()
    await rotate(fixture)
    await pass(fixture, 60)
    fixture.directory.fault({ kind, operation: 'removeKey' })

    await pass(fixture, 3601)

    await expect.poll(() => fixture.state.intents.all()).toEqual([])
    expect(await keysUpstream(fixture)).toHaveLength(1)
    expect(events(fixture)).not.toContain('root_certificate_left')
  })

  test('names a former one in the log if it cannot be identified, and leaves it', async () => {
    await using fixture = await certified()
    await fixture.engine.putConfig(fixture.mount, {
      root_application_object_id: fixture.directory.rootApplicationId,
    })
    await rotate(fixture)
    await pass(fixture, 60)
    const denied = { kind: 'status', status: 403, code: 'Authorization_RequestDenied', times: null } as const
    fixture.directory.fault({ ...denied, operation: 'getApplication' })

    await pass(fixture, 3601)

    fixture.directory.clearFaults()
    expect(fixture.lines.map(({ fields }) => fields)).toContainEqual({
      event: 'root_certificate_left',
      mount: 'cloud_1234abcd',
      thumbprint: first.thumbprint,
      application: fixture.directory.rootApplicationId,
      reason: 'the root may not read its application',
    })
    expect(await keysUpstream(fixture)).toHaveLength(2)
    expect(await fixture.state.intents.all()).toEqual([])
  })

  test('drops a certificate that never arrived after an hour', async () => {
    await using fixture = await certified()
    fixture.directory.fault({ kind: 'dropped', operation: 'addKey' })

    await rotate(fixture)
    await pass(fixture, 3600)
    const waiting = (await fixture.config()).pending_certificate
    await pass(fixture, 15)
    await pass(fixture, 601)

    expect(waiting).toBeDefined()
    expect(await fixture.config()).toMatchObject({ certificate: first })
    expect((await fixture.config()).pending_certificate).toBeUndefined()
    expect(events(fixture)).toContain('root_certificate_dropped')
    expect(await fixture.state.intents.all()).toEqual([])
  })

  test('leaves nothing if the directory refuses the certificate', async () => {
    await using fixture = await certified()
    fixture.directory.fault({
      kind: 'status',
      operation: 'addKey',
      status: 403,
      code: 'Authorization_RequestDenied',
    })

    await expect(rotate(fixture)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('failed to add new certificate'),
    })

    expect((await fixture.config()).pending_certificate).toBeUndefined()
    expect(await fixture.state.intents.all()).toEqual([])
  })

  test('needs no right to read the application if its object id is configured', async () => {
    await using fixture = await certified()
    const denied = { kind: 'status', status: 403, code: 'Authorization_RequestDenied', times: 9 } as const
    fixture.directory.fault({ ...denied, operation: 'getApplication' })

    await expect(rotate(fixture)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(
        /missing permission: Application\.Read\.All; or set root_application_object_id$/,
      ),
    })
    await fixture.engine.putConfig(fixture.mount, {
      root_application_object_id: fixture.directory.rootApplicationId,
    })
    await rotate(fixture)

    fixture.directory.clearFaults()
    expect(await keysUpstream(fixture)).toHaveLength(2)
  })

  test('removes a pending certificate that another rotation replaces, or that the configuration drops', async () => {
    await using fixture = await certified()
    await rotate(fixture)
    await rotate(fixture)
    await fixture.state.intents.undoAll()
    const replaced = (await keysUpstream(fixture)).length

    await fixture.engine.clear(fixture.mount, { abandon: false })

    expect([replaced, (await keysUpstream(fixture)).length]).toEqual([2, 1])
    expect(await fixture.state.intents.all()).toEqual([])
  })

  test.each([
    {
      name: 'there is none',
      config: { auth_type: 'certificate', certificate: undefined, made_certificate: () => first },
      text: 'no client certificate is configured',
    },
    { name: 'it has ended', config: { certificate: () => ended }, text: 'the client certificate has ended' },
  ])('is refused if $name', async ({ config, text }) => {
    await using fixture = await certified()
    const given = Object.fromEntries(
      Object.entries(config).map(([field, value]) => [field, typeof value === 'function' ? value() : value]),
    )
    await fixture.state.changeConfig((before) =>
      before === undefined ? 'keep' : { config: { ...before, ...given } },
    )

    await expect(rotate(fixture)).rejects.toMatchObject({
      kind: 'invalid',
      message: `cannot rotate root: ${text}; create one with config/certificate and upload it`,
    })
  })

  test.each([
    ['certificate', () => ({ certificate: first })],
    ['client id', () => ({ clientId: 'from-the-environment' })],
  ] as const)('is refused if the operator supplies the %s', async (_, operator) => {
    await using fixture = await certified({ operator: operator() })

    await expect(rotate(fixture)).rejects.toThrow('client credentials are provided by the environment')
  })

  test.each(['plugin_wif', 'aks_wif', 'msi', 'msi_wif'] as const)(
    'is refused with auth_type %s',
    async (authType) => {
      await using fixture = await certified({ config: { auth_type: authType, identity_token_audience: 'a' } })

      await expect(rotate(fixture)).rejects.toThrow('cannot rotate root: no client secret is configured')
    },
  )
})

describe('a crash leaves one certificate that works', () => {
  const moments = [0, 1, 2, 3, 4].flatMap((writes) => [
    { writes, last: 'stored' as const },
    { writes, last: 'lost' as const },
  ])

  test.each(moments)('after $writes writes, the last one $last', async ({ writes, last }) => {
    await using fixture = await certified()
    fixture.breakStorage(writes, last)
    await rotate(fixture).catch(() => undefined)
    fixture.clock.advance(60)
    await fixture.engine.rotation.looks.look()

    fixture.restart()
    for (const seconds of [60, 3600, 15, 3601, 601]) await pass(fixture, seconds)

    const { certificate, pending_certificate: pending } = await fixture.config()
    expect(pending).toBeUndefined()
    expect(certificate !== undefined && (await signsIn(fixture, certificate))).toBe(true)
    expect(await keysUpstream(fixture)).toHaveLength(1)
    expect(await fixture.state.intents.all()).toEqual([])
  })
})

describe('a certificate of config/certificate', () => {
  test('is the current one from the first sign-in on', async () => {
    await using fixture = await openEngineFixture()
    const made = await makeRootCertificate(3600, fixture.engine.work(fixture.mount, correlationId))
    await fixture.engine.putConfig(fixture.mount, { auth_type: 'certificate', client_secret: '' })
    const call = { deadline: fixture.clock.now() + 60_000, correlationId }
    const signIn = async () => (await fixture.state.upstream()).tokens.fresh('directory', call)
    await expect(signIn()).rejects.toMatchObject({ code: 'AADSTS700027' })
    const early = (await fixture.config()).certificate

    fixture.directory.admin.addCertificate(fixture.directory.rootApplicationId, made.certificate)
    await signIn()

    expect(early).toBeUndefined()
    expect(await fixture.config()).toMatchObject({ certificate: { thumbprint: made.thumbprint } })
    expect((await fixture.config()).made_certificate).toBeUndefined()
    expect(await rootCertificate(fixture.engine.stateOf(fixture.mount))).toEqual(made)
    expect(JSON.stringify(made)).not.toContain('PRIVATE')
  })

  test('replaces one that has ended', async () => {
    await using fixture = await openEngineFixture({ config: { client_secret: '', certificate: ended } })
    const call = { deadline: fixture.clock.now() + 60_000, correlationId }
    await expect(rotate(fixture)).rejects.toThrow('create one with config/certificate and upload it')

    const made = await makeRootCertificate(3600, fixture.engine.work(fixture.mount, correlationId))
    fixture.directory.admin.addCertificate(fixture.directory.rootApplicationId, made.certificate)
    await (await fixture.state.upstream()).tokens.fresh('directory', call)

    expect(await fixture.config()).toMatchObject({ certificate: { thumbprint: made.thumbprint } })
    expect((await fixture.config()).made_certificate).toBeUndefined()
  })

  test('is not there before it is made', async () => {
    await using fixture = await openEngineFixture()

    await expect(rootCertificate(fixture.engine.stateOf(fixture.mount))).rejects.toMatchObject({
      kind: 'missing',
    })
  })
})
