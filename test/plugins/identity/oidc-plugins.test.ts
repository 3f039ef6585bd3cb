import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inside } from '../../support/client.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { verdict } from './login-mount.ts'

const issuer = 'identity/oidc/plugins'
const discovery = `${issuer}/.well-known/openid-configuration`
const keys = `${issuer}/.well-known/keys`
const unsupported = '405 1 error occurred:\n\t* unsupported operation\n\n'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ settings: { DEFAULT_MOUNTS: 'auth/jwt=jwt,kv=kv' } })
})
afterAll(() => server[Symbol.asyncDispose]())

async function publishedIds(path = keys): Promise<unknown[]> {
  const { body } = await server.anonymous.read(path)
  return Array.from(body.keys as unknown as { kid: unknown }[], ({ kid }) => kid)
}

const mounted = (path: string, config: object = {}, type = 'cloud') =>
  server.root.write(`sys/mounts/${path}`, { type, config })
const unmounted = (path: string) => server.root.delete(`sys/mounts/${path}`)
const aKey = (name: string, settings: object = {}) =>
  server.root.write(`identity/oidc/key/${name}`, { allowed_client_ids: '*', ...settings })

describe('the issuer of mounts', () => {
  test('is described in each namespace without a token, with or without a slash at the end', async () => {
    await server.root.write('sys/namespaces/team', {})

    for (const [prefix, path] of [
      ['', discovery],
      ['', `${discovery}/`],
      ['team/', discovery],
    ] as const) {
      const { status, headers, body } = await server.anonymous.read(path, inside(prefix))
      const expected = `${server.url}/v1/${prefix}identity/oidc/plugins`
      expect([status, headers['cache-control'], headers['content-type']]).toEqual([
        200,
        'max-age=3600',
        'application/json',
      ])
      expect(body).toMatchObject({ issuer: expected, jwks_uri: `${expected}/.well-known/keys` })
    }
  })

  test('has the base of the configured issuer', async () => {
    await server.root.write('identity/oidc/config', { issuer: 'https://gate.example.com' })

    const { body } = await server.anonymous.read(discovery)
    await server.root.write('identity/oidc/config', { issuer: '' })

    expect(body.issuer).toBe('https://gate.example.com/v1/identity/oidc/plugins')
  })

  test('has at most 600 characters in each namespace', async () => {
    const long = 'n'.repeat(120)
    await server.root.write(`sys/namespaces/${long}`, {})
    const rest = `/v1/${long}/identity/oidc/plugins`.length + 'https://'.length
    const named = (length: number) => ({ issuer: `https://${'h'.repeat(length - rest)}` })

    const refused = await server.root.write(`${long}/identity/oidc/config`, named(601))
    const accepted = await server.root.write(`${long}/identity/oidc/config`, named(600))

    expect([verdict(refused), accepted.status]).toEqual(['400 issuer must have at most 600 characters', 200])
    const { body } = await server.anonymous.read(discovery, inside(long))
    expect(String(body.issuer)).toHaveLength(600)
  })

  test.each([
    ['POST', discovery, unsupported],
    ['LIST', keys, unsupported],
    ['DELETE', `${keys}/`, unsupported],
    ['GET', `${issuer}/.well-known/other`, '404 unsupported path'],
    ['GET', `${issuer}/token`, '403 permission denied'],
  ])('%s %s is refused', async (verb, path, expected) => {
    expect(verdict(await server.anonymous.call(verb, path))).toBe(expected)
  })
})

describe('the published keys', () => {
  test('are those of the keys that mounts of the cloud engine name, in their own namespace', async () => {
    await server.root.write('sys/namespaces/other', {})
    expect((await server.anonymous.read(keys)).text).toBe('{"keys":[]}')
    await aKey('named')
    await aKey('unused')

    await mounted('c1', { identity_token_key: 'named' })
    const named = await publishedIds()
    await mounted('c2', {}, 'azure')
    const withDefault = await publishedIds()
    await server.root.write('sys/mounts/c1/tune', { identity_token_key: '' })
    const onlyDefault = await publishedIds()

    expect([named.length, withDefault.length, onlyDefault.length]).toEqual([2, 4, 2])
    expect(withDefault).toEqual(expect.arrayContaining([...named, ...onlyDefault]))
    expect(await publishedIds(`other/${keys}`)).toEqual([])
    expect((await server.anonymous.read(keys)).headers['cache-control']).toMatch(/^max-age=3[56]\d\d$/)
    await unmounted('c1')
    await unmounted('c2')
    expect(await publishedIds()).toEqual([])
  })

  test('a former key stays after a rotation, and the next one was published before', async () => {
    await aKey('rotated')
    await mounted('c3', { identity_token_key: 'rotated' })
    const before = await publishedIds()

    await server.root.write('identity/oidc/key/rotated/rotate', {})
    const after = await publishedIds()
    await unmounted('c3')

    expect(after).toHaveLength(3)
    expect(after).toEqual(expect.arrayContaining(before))
  })

  test('are at most a hundred: first those that sign now or next, then the latest former ones', async () => {
    await aKey('busy', { algorithm: 'EdDSA' })
    await mounted('c4', { identity_token_key: 'busy' })
    const first = await publishedIds()
    for (let round = 0; round < 99; round++)
      await server.root.write('identity/oidc/key/busy/rotate', { verification_ttl: 3600 + round })
    const many = await publishedIds()
    await unmounted('c4')

    expect(many).toHaveLength(100)
    expect(many).not.toContain(first[0])
    expect(many).toContain(first[1])
  })
})

describe('identity_token_key of a mount', () => {
  test('is shown once it is set, and can be changed and cleared', async () => {
    await aKey('k1')
    await aKey('k2')
    await mounted('c5')
    const shown = async () => {
      const { config } = (await server.root.read('sys/mounts/c5')).body.data ?? {}
      const tune = (await server.root.read('sys/mounts/c5/tune')).body.data ?? {}
      return [(config as Record<string, unknown>)['identity_token_key'], tune['identity_token_key']]
    }

    expect(await shown()).toEqual([undefined, undefined])
    await server.root.write('sys/mounts/c5/tune', { identity_token_key: 'k1' })
    expect(await shown()).toEqual(['k1', 'k1'])
    await server.root.write('sys/mounts/c5/tune', { description: 'kept' })
    expect(await shown()).toEqual(['k1', 'k1'])
    await server.root.write('sys/mounts/c5/tune', { identity_token_key: 'k2' })
    expect(await shown()).toEqual(['k2', 'k2'])
    await server.root.write('sys/mounts/c5/tune', { identity_token_key: '' })
    expect(await shown()).toEqual([undefined, undefined])
    await unmounted('c5')
  })

  test('must name a key of the namespace, also where a mount moves to', async () => {
    await server.root.write('sys/namespaces/far', {})
    await aKey('near')

    expect(verdict(await mounted('c6', { identity_token_key: 'none' }))).toBe('400 cannot find key "none"')
    expect((await server.root.read('sys/mounts/c6')).status).toBe(400)
    await mounted('c6', { identity_token_key: 'near' })
    expect(
      verdict(
        await server.root.write('sys/mounts/c6/tune', { identity_token_key: 'none', description: 'x' }),
      ),
    ).toBe('400 cannot find key "none"')
    expect((await server.root.read('sys/mounts/c6')).body.data).toMatchObject({
      config: { identity_token_key: 'near' },
      description: '',
    })
    expect(verdict(await server.root.write('sys/remount', { from: 'c6', to: 'far/c6' }))).toBe(
      '400 cannot find key "near"',
    )
    expect(verdict(await server.root.write('sys/mounts/identity/tune', { identity_token_key: 'near' }))).toBe(
      '400 cannot tune parameter identity_token_key of identity/',
    )
    await unmounted('c6')
  })

  test('keeps its key from deletion', async () => {
    await aKey('held')
    await mounted('c8', { identity_token_key: 'held' })
    await mounted('c7', { identity_token_key: 'held' }, 'azure')

    expect(verdict(await server.root.delete('identity/oidc/key/held'))).toBe(
      '400 unable to delete key "held" because it is currently referenced by these mounts: c7/, c8/',
    )
    await unmounted('c7')
    await unmounted('c8')
    expect((await server.root.delete('identity/oidc/key/held')).status).toBe(204)
  })
})
