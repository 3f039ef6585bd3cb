import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { newMount, patch, put } from './kv-fixture.ts'

const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5, 60))
let server: TestServer
let mount: string
beforeAll(async () => {
  server = await startTestServer({ clock })
  mount = await newMount(server, 2)
})
afterAll(() => server[Symbol.asyncDispose]())

let made = 0
const fresh = () => `f${++made}`
const at = (path: string, key: string) => `${mount}/${path}/${key}`
const read = (key: string, query = '') => server.root.read(at('data', key) + query)
const versionsOf = async (key: string, own = mount) => {
  const { body } = await server.root.read(`${own}/metadata/${key}`)
  return Object.entries(body.data?.['versions'] ?? {}).map(([number, version]) =>
    version['destroyed']
      ? `${number}:destroyed`
      : String(version['deletion_time']) === ''
        ? number
        : `${number}:deleted`,
  )
}
const ages = async (key: string, own = mount) => {
  const { body } = await server.root.read(`${own}/metadata/${key}`)
  const { current_version, oldest_version } = body.data ?? {}
  return [Number(current_version), Number(oldest_version)]
}
/** Seconds that a version lives; undefined for ever. */
const lifeOf = ({ body }: { body: Awaited<ReturnType<typeof read>>['body'] }) => {
  const { created_time, deletion_time } = body.data?.['metadata'] ?? body.data ?? {}
  return deletion_time === ('' as never)
    ? undefined
    : (Date.parse(String(deletion_time)) - Date.parse(String(created_time))) / 1000
}

describe('deletion', () => {
  test('many versions are deleted, brought back and destroyed in one step each', async () => {
    const key = fresh()
    const all = Array.from({ length: 90 }, (_, at) => at + 1)
    await server.root.write(at('metadata', key), { max_versions: 100 })
    await Promise.all(all.map((x) => put(server.root, at('data', key), { x })))

    for (const [operation, shown] of [
      ['delete', 'deleted'],
      ['undelete', undefined],
      ['destroy', 'destroyed'],
    ] as const) {
      expect((await server.root.write(at(operation, key), { versions: all.join(',') })).status).toBe(204)
      expect(await versionsOf(key)).toEqual(
        all.map((one) => (shown === undefined ? String(one) : `${one}:${shown}`)),
      )
    }
  })

  test('the current version is hidden, and shown again', async () => {
    const key = fresh()
    await put(server.root, at('data', key), { x: 1 }, { x: 2 })

    expect(await server.root.delete(at('data', key) + '?versions=1')).toMatchObject({ status: 204, text: '' })
    const gone = await read(key)
    clock.advance(5)
    expect((await server.root.delete(at('data', key))).status).toBe(204)

    expect(gone).toMatchObject({
      status: 404,
      body: { data: { data: null, metadata: { version: 2, destroyed: false } } },
    })
    expect((await read(key)).body.data).toEqual(gone.body.data)
    expect((await read(key, '?version=1')).status).toBe(200)
    expect((await server.root.list(`${mount}/metadata`)).body.data?.['keys']).toContain(key)
    expect((await server.root.write(at('undelete', key), { versions: ['2'] })).status).toBe(204)
    expect((await read(key)).body.data).toMatchObject({ data: { x: 2 }, metadata: { deletion_time: '' } })
    expect((await server.root.delete(at('data', fresh()))).status).toBe(204)
  })

  test('versions are deleted, undeleted and destroyed by their numbers', async () => {
    const key = fresh()
    await put(server.root, at('data', key), { x: 1 }, { x: 2 }, { x: 3 }, { x: 4 })

    await server.root.write(at('delete', key), { versions: '1,2,9' })
    expect(await versionsOf(key)).toEqual(['1:deleted', '2:deleted', '3', '4'])
    await server.root.write(at('destroy', key), { versions: [2, 3, 2] })
    expect(await versionsOf(key)).toEqual(['1:deleted', '2:destroyed', '3:destroyed', '4'])
    await server.root.write(at('undelete', key), { versions: [1, 2, 3] })
    expect(await versionsOf(key)).toEqual(['1', '2:destroyed', '3:destroyed', '4'])

    const destroyed = await read(key, '?version=2')
    expect(destroyed).toMatchObject({ status: 404, body: { data: { data: null } } })
    expect(destroyed.body.data?.['metadata']).toMatchObject({
      destroyed: true,
      deletion_time: expect.stringMatching(/Z$/),
    })
    expect((await read(key, '?version=3')).body.data?.['metadata']).toMatchObject({ deletion_time: '' })
    expect((await put(server.root, at('data', key), { x: 5 })).body.data).toMatchObject({ version: 5 })
    await server.root.write(at('destroy', key), { versions: [5] })
    expect((await read(key)).status).toBe(404)
  })

  test('an earlier version that was read before is shown as the last change left it', async () => {
    const key = fresh()
    await put(server.root, at('data', key), { x: 1 }, { x: 2 }, { x: 3 })
    const seen = async () => {
      const answers = [await read(key, '?version=1'), await read(key, '?version=1')]
      expect(answers[1]?.body.data).toEqual(answers[0]?.body.data)
      return [answers[0]?.status, answers[0]?.body.data?.['data']]
    }
    const versions = { versions: [1] }

    const states = [await seen()]
    await put(server.root, at('data', key), { x: 4 })
    states.push(await seen())
    for (const change of ['delete', 'undelete', 'destroy']) {
      await server.root.write(at(change, key), versions)
      states.push(await seen())
    }
    await server.root.delete(at('metadata', key))
    await put(server.root, at('data', key), { x: 'new' }, { x: 'newer' })
    states.push(await seen())

    expect(states).toEqual([
      ...[
        [200, { x: 1 }],
        [200, { x: 1 }],
        [404, null],
        [200, { x: 1 }],
        [404, null],
      ],
      [200, { x: 'new' }],
    ])
  })

  test.each(['delete', 'undelete', 'destroy'])('%s wants numbers of versions', async (call) => {
    const text = `${call === 'destroy' ? 'no' : 'No'} version number provided`

    for (const body of [{}, undefined, { versions: [] }, { versions: '' }, { versions: null }])
      expect((await server.root.write(at(call, 'none'), body)).body).toEqual(errors(text))
    for (const versions of ['x', [1.5], { a: 1 }, [[1]], ' '])
      expect((await server.root.write(at(call, 'none'), { versions })).body).toEqual(
        errors(
          expect.stringMatching(/^Field validation failed: error converting input for field "versions": /),
        ),
      )
    for (const versions of [[1], '1,2', 1, true, [null, 1], ','])
      expect((await server.root.write(at(call, 'none'), { versions })).status).toBe(204)
    expect((await read('none')).status).toBe(404)
  })

  test('a deleted key is gone with its settings, and a new one sees nothing of it', async () => {
    const key = fresh()
    await put(server.root, at('data', key), { x: 1 }, { x: 2 })
    await put(server.root, at('data', `${key}/b`), { y: 1 })
    await server.root.write(at('metadata', key), { max_versions: 4, custom_metadata: { o: 'me' } })

    expect((await server.root.delete(at('metadata', key))).status).toBe(204)

    for (const path of ['data', 'metadata', 'subkeys'])
      expect(await server.root.read(at(path, key))).toMatchObject({ status: 404, body: errors() })
    expect((await read(`${key}/b`)).status).toBe(200)
    await server.root.write(at('undelete', key), { versions: [1, 2] })
    await put(server.root, at('data', key), { z: 1 })
    const { body } = await server.root.read(at('metadata', key))
    expect(body.data).toMatchObject({ current_version: 1, max_versions: 0, custom_metadata: null })
    expect((await read(key, '?version=2')).status).toBe(404)
    expect(await versionsOf(key)).toEqual(['1'])
  })
})

describe('the window', () => {
  test('ten versions are kept, and what has left is gone for good', async () => {
    const key = fresh()
    const all = Array.from({ length: 10 }, (_, at) => ({ at }))

    await put(server.root, at('data', key), ...all)
    expect(await ages(key)).toEqual([10, 1])
    await put(server.root, at('data', key), { at: 10 })
    expect(await ages(key)).toEqual([11, 2])
    for (const call of ['undelete', 'destroy', 'delete'])
      expect((await server.root.write(at(call, key), { versions: [1] })).status).toBe(204)
    expect(await read(key, '?version=1')).toMatchObject({ status: 404, body: errors() })
    expect((await read(key, '?version=2')).body.data?.['data']).toEqual({ at: 1 })
  })

  test('the larger limit counts; a lower one bites at the next write, a higher one revives nothing', async () => {
    const own = await newMount(server, 2, { max_versions: 2 })
    const key = 'k'
    await server.root.write(`${own}/metadata/${key}`, { max_versions: 4 })
    await put(server.root, `${own}/data/${key}`, ...Array.from({ length: 6 }, (_, at) => ({ at })))
    expect(await versionsOf(key, own)).toEqual(['3', '4', '5', '6'])

    await server.root.write(`${own}/metadata/${key}`, { max_versions: 1 })
    expect(await versionsOf(key, own)).toEqual(['3', '4', '5', '6'])
    await patch(server.root, `${own}/data/${key}`, { data: { z: 1 } })
    expect(await versionsOf(key, own)).toEqual(['6', '7'])
    expect(await ages(key, own)).toEqual([7, 6])
    await server.root.write(`${own}/metadata/${key}`, { max_versions: 20 })
    await put(server.root, `${own}/data/${key}`, { y: 1 })
    expect(await versionsOf(key, own)).toEqual(['6', '7', '8'])
  })

  test('deleted and destroyed versions count', async () => {
    const own = await newMount(server, 2, { max_versions: 3 })
    await put(server.root, `${own}/data/a`, { at: 1 }, { at: 2 }, { at: 3 })
    await server.root.write(`${own}/destroy/a`, { versions: [2] })
    await server.root.write(`${own}/delete/a`, { versions: [3] })

    await put(server.root, `${own}/data/a`, { at: 4 })
    expect(await versionsOf('a', own)).toEqual(['2:destroyed', '3:deleted', '4'])
    await put(server.root, `${own}/data/a`, { at: 5 }, { at: 6 })
    expect(await versionsOf('a', own)).toEqual(['4', '5', '6'])
  })

  test('one version can be the only one', async () => {
    const own = await newMount(server, 2, { max_versions: 1 })
    await Promise.all(Array.from({ length: 12 }, (_, at) => put(server.root, `${own}/data/a`, { at })))

    expect(await versionsOf('a', own)).toEqual(['12'])
    expect(await ages('a', own)).toEqual([12, 12])
  })
})

describe('timed deletion', () => {
  test('the shorter lifetime counts, and that of the mount can switch it off', async () => {
    const own = await newMount(server, 2, { delete_version_after: '1h' })
    const write = async () => lifeOf(await server.root.write(`${own}/data/a`, { data: { x: 1 } }))

    expect(await write()).toBe(3600)
    await server.root.write(`${own}/metadata/a`, { delete_version_after: '10m' })
    expect(await write()).toBe(600)
    await server.root.write(`${own}/metadata/a`, { delete_version_after: '2h' })
    expect(await write()).toBe(3600)
    await server.root.write(`${own}/config`, { delete_version_after: '-1s' })
    expect(await write()).toBeUndefined()
    await server.root.write(`${own}/config`, { delete_version_after: '0s' })
    expect(await write()).toBe(7200)
    expect(lifeOf(await patch(server.root, `${own}/data/a`, { data: { y: 1 } }))).toBe(7200)
    expect(lifeOf(await server.root.read(`${own}/data/a?version=1`))).toBe(3600)
  })

  test('from its time on a version is deleted, and undeleted for another lifetime', async () => {
    const key = fresh()
    await server.root.write(at('metadata', key), { delete_version_after: '60s' })
    await put(server.root, at('data', key), { x: 1 })

    clock.advance(59)
    expect(await read(key)).toMatchObject({ status: 200 })
    clock.advance(1)
    const gone = await read(key)
    expect(gone).toMatchObject({ status: 404, body: { data: { data: null } } })
    expect((await patch(server.root, at('data', key), { data: {} })).status).toBe(404)
    expect((await server.root.read(at('subkeys', key))).status).toBe(404)
    clock.advance(10)
    await server.root.delete(at('data', key))
    expect((await read(key)).body.data).toEqual(gone.body.data)
    await server.root.write(at('undelete', key), { versions: [1] })
    expect(lifeOf(await read(key))).toBe(130)
    clock.advance(60)
    expect((await read(key)).status).toBe(404)
    expect((await put(server.root, at('data', key), { x: 2 })).body.data).toMatchObject({ version: 2 })
  })

  test('a deletion before that time is at once, and a living version gets a whole lifetime', async () => {
    const key = fresh()
    await server.root.write(at('metadata', key), { delete_version_after: '60s' })
    await put(server.root, at('data', key), { x: 1 })

    clock.advance(20)
    await server.root.write(at('undelete', key), { versions: [1] })
    expect(lifeOf(await read(key))).toBe(80)
    await server.root.delete(at('data', key))
    expect(lifeOf(await read(key))).toBe(20)
    await server.root.write(at('metadata', key), { delete_version_after: '0s' })
    await server.root.write(at('undelete', key), { versions: [1] })
    expect(lifeOf(await read(key))).toBeUndefined()
  })
})
