import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { holder, invalidPath, newMount, put } from './kv-fixture.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

let made = 0
const enable = async (body: object) => {
  const path = `m${++made}`
  const answer = await server.root.write(`sys/mounts/${path}`, body)
  const entry = (await server.root.read(`sys/mounts/${path}`)).body.data
  return { path, answer, entry }
}

describe('mounts', () => {
  test.each([
    { body: { type: 'kv' }, type: 'kv', options: {} },
    { body: { type: 'kv', options: null }, type: 'kv', options: null },
    { body: { type: 'kv', options: { version: '' } }, type: 'kv', options: { version: '' } },
    { body: { type: 'kv', options: { version: true } }, type: 'kv', options: { version: '1' } },
    { body: { type: 'kv', options: { version: 2 } }, type: 'kv', options: { version: '2' } },
    { body: { type: 'kv', options: 'version=2' }, type: 'kv', options: { version: '2' } },
    {
      body: { type: 'kv', options: { version: '2', team: 'a' } },
      type: 'kv',
      options: { version: '2', team: 'a' },
    },
    { body: { type: 'kv-v1', options: { version: '2' } }, type: 'kv', options: { version: '1' } },
    { body: { type: 'kv-v2' }, type: 'kv', options: { version: '2' } },
    { body: { type: 'generic' }, type: 'generic', options: {} },
  ])('$body is mounted with $options', async ({ body, type, options }) => {
    const { path, answer, entry } = await enable(body)

    expect(answer.status).toBe(204)
    expect(entry).toMatchObject({ type, options })
    expect(String(entry?.['accessor'])).toMatch(new RegExp(`^${type}_[0-9a-f]{8}$`))
    expect('deprecation_status' in (entry ?? {})).toBe(type === 'kv')
    const isSecond = Object(options)['version'] === '2'
    expect((await server.root.read(`${path}/config`)).status).toBe(isSecond ? 200 : 404)
    const listed = await server.root.list(isSecond ? `${path}/metadata` : path)
    expect(listed).toMatchObject({ status: 404, body: errors() })
  })

  test.each(['3', '0', 'x', '02', ' 2'])('version %j is refused', async (version) => {
    const { answer } = await enable({ type: 'kv', options: { version } })

    expect(answer).toMatchObject({
      status: 400,
      body: errors('nil backend of type "kv" returned from factory'),
    })
  })

  test.each([
    { body: { type: 'KV' }, text: 'plugin not found in the catalog: KV' },
    { body: { type: 'kv-v3' }, text: 'plugin not found in the catalog: kv-v3' },
    {
      body: { type: 'kv', options: { leased_passthrough: 'true' } },
      text: 'leased_passthrough is not supported',
    },
    {
      body: { type: 'generic', options: { version: '1' } },
      text: 'secrets engine "generic" does not allow setting a version',
    },
  ])('$body is refused', async ({ body, text }) => {
    expect((await enable(body)).answer).toMatchObject({ status: 400, body: errors(text) })
  })

  test('a development server has a mount of version 2 at secret/, a durable one has none', async () => {
    await using durable = await startTestServer({ dev: false })
    const { body } = await server.root.read('sys/mounts/secret')
    const types = (await durable.anonymous.read('sys/internal/ui/mounts')).status

    expect(body.data).toMatchObject({
      type: 'kv',
      options: { version: '2' },
      description: 'key/value secret storage',
    })
    expect(types).toBe(200)
  })

  test('a removed mount leaves nothing for one of its name, and a moved one keeps everything', async () => {
    const mount = await newMount(server, 2)
    await put(server.root, `${mount}/data/a`, { x: 1 })
    const move = await server.root.write('sys/remount', { from: mount, to: `${mount}-moved` })
    const status = `sys/remount/status/${String(move.body.data?.['migration_id'])}`
    const isMoving = async () =>
      String((await server.root.read(status)).body.data?.['migration_info']?.['status']) === 'in-progress'
    while (await isMoving());

    const moved = await server.root.read(`${mount}-moved/data/a`)
    await server.root.delete(`sys/mounts/${mount}-moved`)
    await server.root.write(`sys/mounts/${mount}-moved`, { type: 'kv-v2' })

    expect(moved.body.data?.['data']).toEqual({ x: 1 })
    expect((await server.root.read(`${mount}-moved/data/a`)).status).toBe(404)
    expect((await server.root.list(`${mount}-moved/metadata`)).status).toBe(404)
  })
})

describe('the tuning of a version', () => {
  const tune = (mount: string, options: unknown) => server.root.write(`sys/mounts/${mount}/tune`, { options })

  test('version 1 becomes version 2, and every entry the first version of its key', async () => {
    const mount = await newMount(server, 1)
    const paths = ['a', 'b/c', 'data/x', ...Array.from({ length: 120 }, (_, at) => `many/${at}`)]
    for (const path of paths)
      await server.root.write(`${mount}/${path}`, undefined, { raw: '{"ttl":"1h","n":1e3,"l":[1,"b"]}' })

    const tuned = await tune(mount, { version: '2', team: 'x' })

    expect(tuned).toMatchObject({
      status: 200,
      body: {
        data: null,
        warnings: [
          'Upgrading mount from version 1 to version 2. This mount will be unavailable for a brief period and will resume service shortly.',
        ],
      },
    })
    for (const path of paths) {
      const read = await server.root.read(`${mount}/data/${path}`)
      expect(read.text).toContain('"data":{"ttl":"1h","n":1e3,"l":[1,"b"]}')
      expect(read.body.data?.['metadata']).toMatchObject({ version: 1 })
    }
    const { body } = await server.root.read(`${mount}/metadata/a`)
    expect(body.data).toMatchObject({ current_version: 1, oldest_version: 1, current_metadata_version: 0 })
    expect((await server.root.list(`${mount}/metadata`)).body.data?.['keys']).toEqual([
      'a',
      'b/',
      'data/',
      'many/',
    ])
    expect((await server.root.read(`${mount}/a`)).body.warnings).toEqual([invalidPath('get')])
    expect((await server.root.read(`sys/mounts/${mount}`)).body.data?.['options']).toEqual({
      version: '2',
      team: 'x',
    })
    expect((await put(server.root, `${mount}/data/a`, { y: 2 })).body.data).toMatchObject({ version: 2 })
  })

  test('entries beyond the first thousand are upgraded in the background, which writers survive', async () => {
    const mount = await newMount(server, 1)
    for (let from = 0; from < 1100; from += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, at) =>
          server.root.write(`${mount}/k${from + at}`, { at: from + at }),
        ),
      )

    expect((await tune(mount, { version: '2' })).status).toBe(200)
    const seen = new Set<string>()
    for (;;) {
      const listed = await server.root.list(`${mount}/metadata`)
      if (listed.status === 200) {
        expect(listed.body.data?.['keys']).toHaveLength(1100)
        break
      }
      seen.add(String(listed.body['errors']?.[0]))
    }

    for (const text of seen) expect(text).toMatch(/^Upgrading from non-versioned to versioned data\. /)
    expect((await server.root.read(`${mount}/data/k1099`)).body.data?.['data']).toEqual({ at: 1099 })
  })

  test('writes that race with an upgrade arrive', async () => {
    const mount = await newMount(server, 1)
    const writes = Array.from({ length: 40 }, (_, at) => server.root.write(`${mount}/w${at}`, { at }))
    const tuned = tune(mount, { version: '2' })
    const late = Array.from({ length: 40 }, (_, at) => server.root.write(`${mount}/l${at}`, { at }))

    const [written, lately] = [await Promise.all(writes), await Promise.all(late)]
    expect((await tuned).status).toBe(200)
    const kept = [
      ...written.map((answer, at) => ({ answer, key: `w${at}`, at })),
      ...lately.map((answer, at) => ({ answer, key: `l${at}`, at })),
    ]
    for (const { key, at } of kept.filter((one) => one.answer.status === 204))
      expect((await server.root.read(`${mount}/data/${key}`)).body.data?.['data']).toEqual({ at })
  })

  test.each([
    { version: 2 as const, sent: '1', text: 'cannot downgrade mount from version 2' },
    { version: 2 as const, sent: '3', text: 'invalid version provided: 3' },
    { version: 1 as const, sent: '0', text: 'invalid version provided: 0' },
    { version: 1 as const, sent: '', text: 'invalid version provided: 0' },
    { version: 1 as const, sent: '-1', text: 'invalid version provided: -1' },
    { version: 1 as const, sent: 'x', text: 'unable to parse options: strconv.ParseInt: invalid syntax' },
    { version: 1 as const, sent: '0x2', text: 'unable to parse options: strconv.ParseInt: invalid syntax' },
    { version: 2 as const, sent: '1.5', text: 'unable to parse options: strconv.ParseInt: invalid syntax' },
  ])('version $version to $sent is refused', async ({ version, sent, text }) => {
    const mount = await newMount(server, version)

    expect(await tune(mount, { version: sent })).toMatchObject({ status: 400, body: errors(text) })
    expect(await tune(mount, { leased_passthrough: 'true' })).toMatchObject({ status: 400 })
    expect((await tune(mount, { version, team: 'a' })).status).toBe(204)
    expect((await tune(mount, { team: '' })).status).toBe(204)
    expect((await server.root.read(`sys/mounts/${mount}/tune`)).body.data?.['options']).toEqual({
      version: String(version),
    })
  })
})

describe('the preflight of clients', () => {
  test.each(['', '/', '/a', '/data/a/b', '/a/b/'])('finds the mount of "%s" below it', async (below) => {
    const mount = await newMount(server, 2)

    const { status, body } = await server.root.read(`sys/internal/ui/mounts/${mount}${below}`)

    expect(status).toBe(200)
    expect(body.data).toMatchObject({ path: `${mount}/`, type: 'kv', options: { version: '2' } })
  })

  test('any right below the mount is enough, none or deny alone is not', async () => {
    const mount = await newMount(server, 2)
    const path = `sys/internal/ui/mounts/${mount}/data/x`
    const some = await holder(server, { [`${mount}/data/team/x`]: 'read' })
    const none = await holder(server, { 'elsewhere/*': 'read' })
    const denied = await holder(server, { [`${mount}/data/*`]: 'deny' })

    expect((await some.read(path)).status).toBe(200)
    for (const client of [none, denied]) {
      expect(await client.read(path)).toMatchObject({
        status: 403,
        body: errors(
          `preflight capability check returned 403, please ensure client's policies grant access to path "${mount}/data/x/"`,
        ),
      })
    }
  })

  test('it finds a mount of a namespace below', async () => {
    await server.root.write('sys/namespaces/kvteam')
    await server.root.write('kvteam/sys/mounts/own', { type: 'kv-v2' })
    const allowed = await holder(server, { 'kvteam/own/data/*': 'read' })
    const other = await holder(server, { 'own/data/*': 'read' })

    const found = await allowed.read('sys/internal/ui/mounts/kvteam/own/data/x')

    expect(found.body.data).toMatchObject({ path: 'kvteam/own/', options: { version: '2' } })
    expect((await other.read('sys/internal/ui/mounts/kvteam/own/data/x')).status).toBe(403)
  })
})
