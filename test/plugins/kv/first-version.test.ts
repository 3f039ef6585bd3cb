import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors, notAllowed } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { holder, newMount, patch } from './kv-fixture.ts'

let server: TestServer
let mount: string
beforeAll(async () => {
  server = await startTestServer()
  mount = await newMount(server, 1)
})
afterAll(() => server[Symbol.asyncDispose]())

let made = 0
const fresh = () => `${mount}/f${++made}`

describe('version 1', () => {
  test('an entry is written, read, replaced as a whole and deleted', async () => {
    const path = fresh()

    expect(await server.root.read(path)).toMatchObject({ status: 404, body: errors() })
    expect(await server.root.write(path, { x: 1, y: 'z' })).toMatchObject({ status: 204, text: '' })
    expect((await server.root.read(path)).body).toMatchObject({
      data: { x: 1, y: 'z' },
      lease_id: '',
      renewable: false,
      lease_duration: 2_764_800,
      warnings: null,
      mount_type: 'kv',
    })
    expect((await server.root.call('PUT', path, { x: 2 })).status).toBe(204)
    expect((await server.root.read(path)).body.data).toEqual({ x: 2 })
    expect((await server.root.delete(path)).status).toBe(204)
    expect((await server.root.read(path)).status).toBe(404)
    expect((await server.root.delete(path)).status).toBe(204)
  })

  test('an unknown query key is a warning on a read that finds something', async () => {
    const path = fresh()
    await server.root.write(path, { x: 1 })

    const { body } = await server.root.read(`${path}?foo=1`)

    expect(body.warnings).toEqual(['Endpoint ignored these unrecognized parameters: [foo]'])
    expect(await server.root.read(`${fresh()}?foo=1`)).toMatchObject({ status: 404, body: errors() })
  })

  test.each(['', '{}', 'null'])('the body "%s" is refused', async (raw) => {
    expect(await server.root.write(fresh(), undefined, { raw })).toMatchObject({
      status: 400,
      body: errors('missing data fields'),
    })
  })

  test('a form gives texts', async () => {
    const path = fresh()
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }

    await server.root.write(path, undefined, { raw: 'a=b&c=d&a=e', headers })

    expect((await server.root.read(path)).body.data).toEqual({ a: 'b,e', c: 'd' })
  })

  test('the mount itself is no entry', async () => {
    expect(await server.root.read(mount)).toMatchObject({ status: 404, body: errors() })
    expect((await server.root.delete(mount)).status).toBe(204)
    expect(await server.root.write(mount, { a: 1 })).toMatchObject({
      status: 400,
      body: errors('missing path'),
    })
  })

  test.each(['/', '%2F', '%2F%2Fx'])('a path with "%s" behind it names no entry', async (end) => {
    const path = fresh()
    await server.root.write(path, { x: 1 })

    const written = await server.root.write(`${path}${end}`, { x: 2 })
    expect(written).toMatchObject({
      status: 400,
      body: errors(
        end.endsWith('x') ? 'path must not contain empty segments' : "cannot write to a path ending in '/'",
      ),
    })
    expect(await server.root.read(`${path}${end}`)).toMatchObject({ status: 404, body: errors() })
    expect((await server.root.delete(`${path}${end}`)).status).toBe(204)
    expect((await server.root.read(path)).body.data).toEqual({ x: 1 })
  })

  test('other verbs are refused', async () => {
    const path = fresh()

    expect((await patch(server.root, path, { x: 1 })).status).toBe(405)
    expect((await server.root.call('HEAD', path)).status).toBe(405)
  })

  test.each([
    '{"n":9007199254740993,"e":1e3,"f":1.10,"m":-0}',
    '{"":"empty","__proto__":{"a":1},"path":"p","data":"d","list":[null,true]}',
  ])('%s is kept as it was sent', async (raw) => {
    const path = fresh()
    await server.root.write(path, undefined, { raw })

    expect((await server.root.read(path)).text).toContain(`"data":${raw}`)
  })

  test.each([
    [{ ttl: '1h' }, 3600],
    [{ ttl: 90 }, 90],
    [{ lease: '2m' }, 120],
    [{ ttl: '1m', lease: '2m' }, 60],
    [{ ttl: null }, 0],
    [{ ttl: '' }, 0],
    [{ ttl: '-5s' }, 0],
    [{ ttl: 'soon', lease: '2m' }, 2_764_800],
    [{ ttl: '9999h' }, 35_996_400],
  ])('the lease duration of %j is %i, and there is no lease', async (data, duration) => {
    const path = fresh()
    await server.root.write(path, data)

    const read = await server.root.read(path)
    const wrapped = await server.root.read(path, { headers: { 'X-Vault-Wrap-TTL': '60' } })
    const opened = await server.root.write('sys/wrapping/unwrap', {
      token: String(wrapped.body.wrap_info?.['token']),
    })

    expect(read.body).toMatchObject({ lease_duration: duration, lease_id: '', data })
    expect(opened.body.lease_duration).toBe(duration)
    expect((await server.root.list(`sys/leases/lookup/${mount}/`)).status).toBe(404)
  })

  test('lists and scans are in byte order, in pages', async () => {
    const own = await newMount(server, 1)
    const paths = ['a', 'b/c', 'b/d/e', 'b', 'Z', '10', '9', 'x y', 'é', 'b-x', '\u{1f600}', '\uffee']
    for (const path of paths) await server.root.write(`${own}/${encodeURI(path)}`, { x: 1 })
    const keys = async (path: string) => (await server.root.list(path)).body.data?.['keys']
    const scanned = async (path: string) => (await server.root.call('SCAN', path)).body.data

    const all = ['10', '9', 'Z', 'a', 'b', 'b-x', 'b/', 'x y', 'é', '\uffee', '\u{1f600}']
    expect(await keys(own)).toEqual(all)
    expect(await keys(`${own}/b`)).toEqual(['c', 'd/'])
    expect(await keys(`${own}/b/`)).toEqual(['c', 'd/'])
    expect(await keys(`${own}?after=b&limit=2`)).toEqual(['b-x', 'b/'])
    expect(await keys(`${own}?after=b/&limit=1`)).toEqual(['x y'])
    expect(await keys(`${own}?limit=-1`)).toEqual(all)
    expect((await server.root.list(`${own}?limit=x`)).status).toBe(400)
    expect((await server.root.list(`${own}/nope`)).status).toBe(404)
    expect(await scanned(`${own}/b`)).toEqual({ keys: ['c', 'd/e'] })
    expect(await scanned(`${own}?after=b&limit=2`)).toEqual({ keys: ['b-x', 'b/c'] })
    expect(await scanned(`${own}/nope`)).toEqual({})
    await server.root.delete(`${own}/b/d/e`)
    expect(await keys(`${own}/b`)).toEqual(['c'])
  })

  test('a first write needs create, a later one update', async () => {
    const own = await newMount(server, 1)
    const creator = await holder(server, { [`${own}/*`]: 'create list' })
    const updater = await holder(server, { [`${own}/*`]: 'update' })

    expect((await updater.write(`${own}/a`, { x: 1 })).body).toEqual(notAllowed)
    expect((await creator.write(`${own}/a`, { x: 1 })).status).toBe(204)
    expect((await creator.write(`${own}/a`, { x: 2 })).body).toEqual(notAllowed)
    expect((await updater.write(`${own}/a`, { x: 3 })).status).toBe(204)
    expect((await creator.read(`${own}/a`)).status).toBe(403)
    expect((await creator.delete(`${own}/a`)).status).toBe(403)
    expect((await creator.call('SCAN', own)).status).toBe(403)
    expect((await updater.list(own)).status).toBe(403)
    expect((await patch(updater, `${own}/a`, { x: 1 })).status).toBe(403)
  })

  test('of many who may only create, one writes', async () => {
    const own = await newMount(server, 1)
    const creator = await holder(server, { [`${own}/*`]: 'create' })

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => creator.write(`${own}/race`, { at })),
    )

    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, ...Array(19).fill(403)])
    const winner = answers.findIndex(({ status }) => status === 204)
    expect((await server.root.read(`${own}/race`)).body.data).toEqual({ at: winner })
  })
})
