import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors, notAllowed } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { holder, newMount, patch, put } from './kv-fixture.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const tree = [
  'a',
  'b/c',
  'b/d/e',
  'b',
  'Z',
  '10',
  '9',
  'b/d/e/f',
  'x y',
  'é',
  '.h',
  '-k',
  '\u{1f600}',
  '\uffee',
]
const names = ['-k', '.h', '10', '9', 'Z', 'a', 'b', 'b/', 'x y', 'é', '\uffee', '\u{1f600}']

async function planted(): Promise<string> {
  const mount = await newMount(server, 2)
  await Promise.all(tree.map((path) => put(server.root, `${mount}/data/${encodeURI(path)}`, { path })))
  return mount
}

describe('lists', () => {
  test('names are in byte order, with folders', async () => {
    const mount = await planted()
    const keys = async (path: string) =>
      (await server.root.list(`${mount}/metadata${path}`)).body.data?.['keys']

    for (const path of ['', '/']) expect(await keys(path)).toEqual(names)
    expect(await keys('/b')).toEqual(['c', 'd/'])
    expect(await keys('/b/d')).toEqual(['e', 'e/'])
    expect(await keys('/b/d/e/')).toEqual(['f'])
    expect((await server.root.call('LIST', `${mount}/metadata/b/`)).body.data?.['keys']).toEqual(['c', 'd/'])
    for (const path of ['/a', '/nope', '/b//'])
      expect([404, 307]).toContain((await server.root.list(`${mount}/metadata${path}`)).status)
    expect((await server.root.list(`${mount}/metadata/nope?foo=1`)).body).toMatchObject({
      data: {},
      warnings: ['Endpoint ignored these unrecognized parameters: [foo]'],
    })
    expect((await server.root.read(`${mount}/metadata?list=maybe`)).body).toEqual(errors())
    expect((await server.root.read(`${mount}/metadata?list=true&scan=true`)).body).toEqual(errors())
  })

  test('pages begin behind a name that need not exist', async () => {
    const mount = await planted()
    const keys = async (query: string) =>
      (await server.root.list(`${mount}/metadata?${query}`)).body.data?.['keys']

    expect(await keys('limit=3')).toEqual(names.slice(0, 3))
    expect(await keys('after=b&limit=2')).toEqual(['b/', 'x y'])
    expect(await keys('after=b/')).toEqual(names.slice(8))
    expect(await keys('after=bb&limit=1')).toEqual(['x y'])
    expect(await keys('limit=0&after=')).toEqual(names)
    for (const limit of ['x', 'max'])
      expect((await server.root.list(`${mount}/metadata?limit=${limit}`)).body).toEqual(
        errors(expect.stringMatching(/^Field validation failed: error converting input for field "limit"/)),
      )
  })

  test('a list follows keys that come and go', async () => {
    const mount = await planted()
    const keys = async (path = '') => (await server.root.list(`${mount}/metadata${path}`)).body.data?.['keys']
    await keys()
    await keys('/b')

    await put(server.root, `${mount}/data/new/x`, { x: 1 })
    await put(server.root, `${mount}/data/b/0`, { x: 1 })
    await server.root.write(`${mount}/metadata/m`, { max_versions: 1 })
    await server.root.delete(`${mount}/metadata/10`)
    await server.root.delete(`${mount}/data/9`)
    expect(await keys()).toEqual([
      ...['-k', '.h', '9', 'Z', 'a', 'b', 'b/', 'm', 'new/', 'x y', 'é', '\uffee', '\u{1f600}'],
    ])
    expect(await keys('/b')).toEqual(['0', 'c', 'd/'])
    await server.root.delete(`${mount}/metadata/new/x`)
    await server.root.delete(`${mount}/metadata/b`)
    expect(await keys()).toEqual(['-k', '.h', '9', 'Z', 'a', 'b/', 'm', 'x y', 'é', '\uffee', '\u{1f600}'])
    await Promise.all(
      Array.from({ length: 300 }, (_, at) => put(server.root, `${mount}/data/many${at}`, { at })),
    )
    expect(await keys()).toHaveLength(311)
  })

  test('folders may be deep', async () => {
    const mount = await newMount(server, 2)
    const deep = Array.from({ length: 100 }, () => 'd').join('/')
    const shallow = Array.from({ length: 16 }, () => 'd').join('/')
    for (const path of [deep, `${shallow}/x`, `${shallow}/d/y`, `${shallow}`, `${shallow}/x/z`])
      await put(server.root, `${mount}/data/${path}`, { path })
    const keys = async (path: string) =>
      (await server.root.list(`${mount}/metadata/${path}`)).body.data?.['keys']

    expect(await keys(deep.slice(0, -2))).toEqual(['d'])
    expect(await keys(shallow)).toEqual(['d/', 'x', 'x/'])
    expect(await keys(shallow.slice(0, -2))).toEqual(['d', 'd/'])
    expect(await keys(`${shallow}/d`)).toEqual(['d/', 'y'])
    const scanned = await server.root.call('SCAN', `${mount}/metadata/${shallow}/x`)
    expect(scanned.body.data).toEqual({ keys: ['z'] })
    expect((await server.root.read(`${mount}/data/${deep}`)).body.data?.['data']).toEqual({ path: deep })
    await server.root.delete(`${mount}/metadata/${shallow}/x`)
    expect(await keys(shallow)).toEqual(['d/', 'x/'])
  })

  test('deleted keys can be left out', async () => {
    const mount = await newMount(server, 2)
    for (const path of ['a', 'b', 'c', 'd', 'f/g']) await put(server.root, `${mount}/data/${path}`, { x: 1 })
    await server.root.delete(`${mount}/data/b`)
    await server.root.write(`${mount}/destroy/c`, { versions: [1] })
    await server.root.write(`${mount}/metadata/only`, { max_versions: 1 })
    const keys = async (query: string) =>
      (await server.root.list(`${mount}/metadata?${query}`)).body.data?.['keys']

    expect(await keys('exclude_deleted=true')).toEqual(['a', 'd', 'f/', 'only'])
    expect(await keys('exclude_deleted=true&limit=2')).toEqual(['a', 'd'])
    expect(await keys('exclude_deleted=true&after=a&limit=1')).toEqual(['d'])
    expect(await keys('exclude_deleted=false')).toEqual(['a', 'b', 'c', 'd', 'f/', 'only'])
  })

  test('a scan names every key below, in byte order', async () => {
    const mount = await planted()
    const scan = async (path: string) =>
      (await server.root.call('SCAN', `${mount}/metadata${path}`)).body.data

    expect(await scan('')).toEqual({
      keys: [
        '-k',
        '.h',
        '10',
        '9',
        'Z',
        'a',
        'b',
        'b/c',
        'b/d/e',
        'b/d/e/f',
        'x y',
        'é',
        '\uffee',
        '\u{1f600}',
      ],
    })
    expect(await scan('/b')).toEqual({ keys: ['c', 'd/e', 'd/e/f'] })
    expect(await scan('?after=b/c&limit=2')).toEqual({ keys: ['b/d/e', 'b/d/e/f'] })
    expect(await scan('/a')).toEqual({})
    expect((await server.root.read(`${mount}/metadata/b?scan=true`)).body.data).toEqual({
      keys: ['c', 'd/e', 'd/e/f'],
    })
  })

  test('details of each key are shown, and none of folders', async () => {
    const mount = await newMount(server, 2)
    for (const path of ['a', 'd/e', 'd/f', 'd']) await put(server.root, `${mount}/data/${path}`, { x: 1 })
    await server.root.write(`${mount}/metadata/a`, { custom_metadata: { owner: 'me' } })

    const listed = await server.root.list(`${mount}/detailed-metadata`)
    const page = await server.root.list(`${mount}/detailed-metadata/d?limit=1&after=e`)
    const scanned = await server.root.call('SCAN', `${mount}/detailed-metadata`)

    expect(listed.body.data).toMatchObject({
      keys: ['a', 'd', 'd/'],
      key_info: { a: { custom_metadata: { owner: 'me' }, current_version: 1 }, d: { current_version: 1 } },
    })
    expect(listed.body.data?.['key_info']?.['d/']).toEqual({})
    expect(page.body.data).toMatchObject({ keys: ['f'], key_info: { f: { versions: { '1': {} } } } })
    expect(Object.keys(scanned.body.data?.['key_info'] ?? {})).toEqual(['a', 'd', 'd/e', 'd/f'])
    expect((await server.root.list(`${mount}/detailed-metadata/nope`)).status).toBe(404)
    expect((await server.root.call('SCAN', `${mount}/detailed-metadata/nope`)).body.data).toEqual({})
  })

  test('details of many keys are all shown, also by page and with odd names', async () => {
    const mount = await newMount(server, 2)
    const names = [...Array.from({ length: 120 }, (_, index) => `k${1000 + index}`), '"q"', '7', '__proto__']
    await Promise.all(
      names.map((name) => put(server.root, `${mount}/data/f/${encodeURIComponent(name)}`, { x: 1 })),
    )

    for (const [verb, query, shown] of [
      ['LIST', '', names.toSorted()],
      ['SCAN', '', names.toSorted()],
      ['LIST', '?limit=60&after=k1001', names.slice(2, 62)],
    ] as const) {
      const { status, text } = await server.root.call(verb, `${mount}/detailed-metadata/f${query}`)
      const { data } = JSON.parse(text) as { data: { keys: string[]; key_info: Record<string, object> } }

      expect(status).toBe(200)
      expect(data.keys).toEqual(shown)
      expect(Object.keys(data.key_info).toSorted()).toEqual(shown)
      expect(Object.values(data.key_info)).toEqual(
        shown.map(() => expect.objectContaining({ current_version: 1, versions: { 1: expect.anything() } })),
      )
    }
  })
})

describe('rights', () => {
  test('a write needs create or update by whether the key exists', async () => {
    const mount = await newMount(server, 2)
    const creator = await holder(server, { [`${mount}/*`]: 'create' })
    const updater = await holder(server, { [`${mount}/*`]: 'update' })
    const write = (client: typeof creator) => client.write(`${mount}/data/a`, { data: { x: 1 } })

    expect((await write(updater)).body).toEqual(notAllowed)
    expect((await write(creator)).status).toBe(200)
    expect((await write(creator)).body).toEqual(notAllowed)
    await server.root.delete(`${mount}/data/a`)
    expect((await write(creator)).body).toEqual(notAllowed)
    expect((await write(updater)).status).toBe(200)
    await server.root.delete(`${mount}/metadata/a`)
    expect((await write(creator)).status).toBe(200)
    expect((await creator.write(`${mount}/metadata/m`, { max_versions: 1 })).status).toBe(204)
    expect((await creator.write(`${mount}/metadata/m`, { max_versions: 1 })).status).toBe(403)
    expect((await creator.write(`${mount}/data/m`, { data: {} })).status).toBe(403)
    expect((await creator.write(`${mount}/delete/a`, { versions: [1] })).status).toBe(403)
    expect((await patch(updater, `${mount}/data/a`, { data: {} })).status).toBe(403)
  })

  test('who may only create never overwrites, in a race either', async () => {
    const mount = await newMount(server, 2)
    const creator = await holder(server, { [`${mount}/*`]: 'create' })

    const data = await Promise.all(
      Array.from({ length: 16 }, (_, at) => creator.write(`${mount}/data/a`, { data: { at } })),
    )
    const metadata = await Promise.all(
      Array.from({ length: 16 }, () => creator.write(`${mount}/metadata/b`, { max_versions: 1 })),
    )

    expect(data.map(({ status }) => status).toSorted()).toEqual([200, ...Array(15).fill(403)])
    expect(metadata.map(({ status }) => status).toSorted()).toEqual([204, ...Array(15).fill(403)])
  })

  test('a bad field is told before the right that is missing, to who may write there', async () => {
    const mount = await newMount(server, 2)
    await put(server.root, `${mount}/data/a`, { x: 1 })
    const creator = await holder(server, { [`${mount}/data/*`]: 'create', [`${mount}/delete/*`]: 'create' })

    expect((await creator.write(`${mount}/data/a`, { data: 'x' })).status).toBe(400)
    expect((await creator.write(`${mount}/data/a`, { data: {} })).status).toBe(403)
    expect((await creator.write(`${mount}/delete/a`, { versions: 'x' })).status).toBe(403)
  })

  test('each path has its own rights', async () => {
    const mount = await planted()
    const lister = await holder(server, { [`${mount}/metadata/*`]: 'list' })
    const others = await holder(server, {
      [`${mount}/metadata/*`]: 'scan',
      [`${mount}/data/*`]: 'patch delete',
      [`${mount}/subkeys/*`]: 'read',
    })

    expect((await lister.list(`${mount}/metadata`)).body.data?.['keys']).toEqual(names)
    for (const rule of [`${mount}/metadata`, `${mount}/metadata/`]) {
      const client = await holder(server, { [rule]: 'list' })
      expect((await client.list(`${mount}/metadata`)).status).toBe(200)
      expect((await client.list(`${mount}/metadata/b`)).status).toBe(403)
    }
    for (const [verb, path] of [
      ['GET', 'metadata/a'],
      ['SCAN', 'metadata'],
      ['LIST', 'detailed-metadata'],
      ['GET', 'data/a'],
    ] as const)
      expect((await lister.call(verb, `${mount}/${path}`)).body).toEqual(notAllowed)
    expect((await others.call('SCAN', `${mount}/metadata/b`)).status).toBe(200)
    expect((await patch(others, `${mount}/data/a`, { data: { y: 1 } })).status).toBe(200)
    expect((await patch(others, `${mount}/data/none`, { data: {} })).status).toBe(404)
    expect((await others.read(`${mount}/subkeys/a`)).status).toBe(200)
    expect((await others.write(`${mount}/data/a`, { data: {} })).status).toBe(403)
    expect((await others.delete(`${mount}/metadata/a`)).status).toBe(403)
    expect((await others.write(`${mount}/destroy/a`, { versions: [1] })).status).toBe(403)
    expect((await others.delete(`${mount}/data/a`)).status).toBe(204)
  })

  test('parameters, wrapping and segments of rules count', async () => {
    const mount = await planted()
    const asked = await holder(
      server,
      { [`${mount}/data/*`]: 'create update' },
      'required_parameters = ["options"] allowed_parameters = {"data" = [] "options" = []}',
    )
    const wrapping = await holder(server, { [`${mount}/data/*`]: 'read' }, 'min_wrapping_ttl = "1s"')
    const own = await holder(server, { [`${mount}/data/*`]: 'read', [`${mount}/data/+/c`]: 'deny' })

    expect((await asked.write(`${mount}/data/n`, { data: {} })).status).toBe(403)
    expect((await asked.write(`${mount}/data/n`, { data: {}, options: { cas: 0 } })).status).toBe(200)
    expect((await asked.write(`${mount}/data/n`, { data: {}, options: {}, foo: 1 })).status).toBe(403)
    expect((await wrapping.read(`${mount}/data/a`)).status).toBe(403)
    const headers = { 'X-Vault-Wrap-TTL': '60' }
    expect((await wrapping.read(`${mount}/data/a`, { headers })).status).toBe(200)
    expect((await own.read(`${mount}/data/b/c?version=1`)).status).toBe(403)
    expect((await own.read(`${mount}/data/b/d/e`)).status).toBe(200)
  })
})
