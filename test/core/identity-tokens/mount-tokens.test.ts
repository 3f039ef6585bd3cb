import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import type { Mount } from '../../../src/core/mounts/mount.ts'
import { MountTypeRegistry } from '../../../src/core/mounts/mount-type-registry.ts'
import { openTestCore } from '../../support/open-core.ts'

const names = { table: 'secret', names: ['cloud'], hasIdentityTokens: true } as const
const use = { audience: 'api://cloud', ttl: 600 }

/** A core with a mount `cloud/`, which needs the given tokens. */
async function aCore(uses: readonly { audience: string; ttl: number }[] = []) {
  const mountTypes = new MountTypeRegistry([names])
  mountTypes.add({ ...names, identityTokenUses: async () => uses })
  const core = await openTestCore({ mountTypes, apiAddr: 'https://gate' })
  const place = { namespace: 'root', table: 'secret', path: 'cloud/' } as const
  const mount = await core.mounts.enable(place, { type: 'cloud' })
  const issuer = core.mounts.table.at('root', 'identity/')?.uuid ?? ''
  const published = async () =>
    createLocalJWKSet(
      JSON.parse((await core.identityTokens.publishedForMounts.of(issuer)).text) as JSONWebKeySet,
    )
  const sign = async (holder: { mount: Mount; role?: string } = { mount }) =>
    (await core.mountTokens.sign(holder, use)).token
  return {
    core,
    mount,
    place,
    issuer,
    published,
    sign,
    [Symbol.asyncDispose]: () => core[Symbol.asyncDispose](),
  }
}

const refusal = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'allowed',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )

test('the token of a mount names the mount and verifies with the published keys', async () => {
  await using house = await aCore()
  const { core, mount } = house
  const now = Math.floor(core.clock.now() / 1000)

  const token = await house.sign()
  const { payload, protectedHeader } = await jwtVerify(token, await house.published(), {
    currentDate: new Date(core.clock.now()),
  })

  expect(protectedHeader).toEqual({ alg: 'RS256', kid: expect.any(String) })
  expect(payload).toEqual({
    iss: 'https://gate/v1/identity/oidc/plugins',
    sub: `plugin-identity:root:secret:${mount.accessor}`,
    aud: ['api://cloud'],
    iat: now,
    nbf: now,
    exp: now + 600,
    jti: expect.any(String),
    'vaultproject.io': {
      accessor: mount.accessor,
      class: 'secret',
      namespace_id: 'root',
      namespace_path: '',
      path: 'cloud/',
    },
  })
})

test('a role has a subject of its own; a move keeps the subject, and a new mount has another one', async () => {
  await using house = await aCore()
  const { core, mount } = house
  const subject = async (one: Mount) => decodeJwt(await house.sign({ mount: one })).sub
  const before = await subject(mount)

  expect(decodeJwt(await house.sign({ mount, role: 'deploy' })).sub).toBe(`${before}:role:deploy`)
  const moved = { ...mount, path: 'moved/' }
  expect(await subject(moved)).toBe(before)
  const anew = await core.mounts.enable({ ...house.place, path: 'anew/' }, { type: 'cloud' })
  expect(await subject(anew)).not.toBe(before)
})

test('tokens verify before and after each rotation, with the keys of before and after it', async () => {
  await using house = await aCore()
  const options = { currentDate: new Date(house.core.clock.now()) }
  const old = { token: await house.sign(), keys: await house.published() }

  await house.core.identityTokens.keys.rotate(house.issuer, 'default', undefined)
  const fresh = { token: await house.sign(), keys: await house.published() }

  for (const [token, keys] of [
    [old.token, fresh.keys],
    [fresh.token, old.keys],
    [fresh.token, fresh.keys],
  ] as const)
    await expect(jwtVerify(token, keys, options)).resolves.toBeDefined()
})

test.each([
  [{ algorithm: 'ES256', allowed_client_ids: ['*'] }, 'key "k" must use RS256'],
  [
    { allowed_client_ids: ['other'] },
    'the key "k" does not list the audience "api://cloud" as an allowed client ID',
  ],
  [
    { allowed_client_ids: ['api://cloud'], verification_ttl: 599 },
    'identity_token_ttl cannot be longer than the verification_ttl of key "k"',
  ],
])('a key with %o is refused when the mount names it, and signs nothing', async (settings, text) => {
  await using needy = await aCore([use])
  const { core, issuer, place, mount } = needy
  await core.identityTokens.keys.write(issuer, 'k', settings)
  const named = { ...mount, config: { ...mount.config, identity_token_key: 'k' } }

  expect(await refusal(core.mounts.tune(place, { identity_token_key: 'k' }))).toBe(text)
  expect(await refusal(core.mountTokens.check({ mount: named }, use))).toBe(text)
  expect(await refusal(core.mountTokens.sign({ mount: named }, use))).toBe(text)
})

test.each([{ algorithm: 'ES256' }, { allowed_client_ids: ['other'] }, { verification_ttl: 599 }])(
  'a write of %o to a key that a mount needs is refused and changes nothing',
  async (settings) => {
    await using needy = await aCore([use])
    const { core, issuer } = needy

    expect(await refusal(core.identityTokens.keys.write(issuer, 'default', settings))).toBe(
      'unable to update key "default" because it is currently referenced by these mounts: cloud/',
    )
    expect(await core.identityTokens.keys.settingsOf(issuer, 'default')).toMatchObject({
      algorithm: 'RS256',
      verification_ttl: 86_400,
    })
    expect(await refusal(core.identityTokens.keys.write(issuer, 'default', { verification_ttl: 600 }))).toBe(
      'allowed',
    )
  },
)

test('issuer, subject and audience have at most 600 characters', async () => {
  await using house = await aCore()
  const { mount, core } = house
  const check = (role: string, audience: string) =>
    refusal(core.mountTokens.check({ mount, role }, { audience, ttl: 60 }))

  expect(await check('r', 'a'.repeat(600))).toBe('allowed')
  expect(await check('r', 'a'.repeat(601))).toBe('identity_token_audience must have at most 600 characters')
  expect(await check('r'.repeat(600), 'a')).toBe('subject must have at most 600 characters')
})
