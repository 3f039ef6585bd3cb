import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { newMount, patch, put } from './kv-fixture.ts'

let server: TestServer
let mount: string
beforeAll(async () => {
  server = await startTestServer()
  mount = await newMount(server, 2)
})
afterAll(() => server[Symbol.asyncDispose]())

let made = 0
const fresh = () => `f${++made}`
const write = (key: string, body: unknown) => server.root.write(`${mount}/data/${key}`, body)
const read = (key: string) => server.root.read(`${mount}/data/${key}`)
const dataOf = async (key: string) => (await read(key)).body.data?.['data']
const notInMap = (field: string, type: string) =>
  `error converting input for field "${field}": '' expected type 'map[string]interface {}', got unconvertible type '${type}'`

describe('the configuration', () => {
  test('a fresh mount has defaults, and a write changes the fields it names', async () => {
    const own = await newMount(server, 2)
    const config = async () => (await server.root.read(`${own}/config`)).body.data
    const unset = {
      max_versions: 0,
      cas_required: false,
      metadata_cas_required: false,
      delete_version_after: '0s',
      effective_max_versions: 10,
    }

    expect(await config()).toEqual(unset)
    expect((await server.root.write(`${own}/config`, { max_versions: '5', cas_required: 1 })).status).toBe(
      204,
    )
    expect((await server.root.write(`${own}/config`, {})).status).toBe(204)
    expect(await config()).toEqual({
      ...unset,
      max_versions: 5,
      effective_max_versions: 5,
      cas_required: true,
    })
    for (const [sent, shown] of [
      ['90', '1m30s'],
      ['1d', '24h0m0s'],
      [-5, '-1s'],
      ['0s', '0s'],
      ['1h', '1h0m0s'],
      [null, '1h0m0s'],
      ['', '0s'],
    ] as const) {
      await server.root.write(`${own}/config`, { delete_version_after: sent })
      expect((await config())?.['delete_version_after']).toBe(shown)
    }
    await server.root.write(`${own}/config`, { max_versions: null, cas_required: null })
    expect(await config()).toEqual(unset)
  })

  test.each([
    [{ max_versions: 'x' }, /^Field validation failed: error converting input for field "max_versions": /],
    [{ cas_required: 'yes' }, /^Field validation failed: error converting input for field "cas_required": /],
    [{ max_versions: -1 }, /^max_versions must be between 0 and 4294967295$/],
    [{ max_versions: 4_294_967_296 }, /^max_versions must be between 0 and 4294967295$/],
  ])('%j is refused', async (body, text) => {
    const answer = await server.root.write(`${mount}/config`, body)

    expect(answer).toMatchObject({ status: 400, body: errors(expect.stringMatching(text)) })
  })
})

describe('writes and reads', () => {
  test.each([
    { data: [null], stored: null },
    { data: [[null], null], stored: null },
    { data: [null, []], stored: {} },
    { data: [null, { a: 1 }], stored: { a: 1 } },
  ])('data $data is stored as $stored', async ({ data, stored }) => {
    const key = fresh()

    expect((await write(key, { data })).status).toBe(200)

    expect(await dataOf(key)).toEqual(stored)
  })

  test.each(['x', 1.5, {}, []])('a write with version %j is refused, and stores nothing', async (version) => {
    const key = fresh()
    const text = expect.stringContaining('error converting input for field "version": ')

    expect(await write(key, { data: { a: 1 }, version })).toMatchObject({ status: 400, body: errors(text) })
    expect((await read(key)).status).toBe(404)
  })

  test.each([7, '7', null])('a write ignores version %j', async (version) => {
    const key = fresh()

    const { body } = await write(key, { data: { a: 1 }, version })

    expect(body).toMatchObject({ data: { version: 1 }, warnings: null })
  })

  test('each write adds a version, and a read shows the current one or the one it names', async () => {
    const key = fresh()

    const first = await write(key, { data: { x: 1 } })
    const second = await server.root.call('PUT', `${mount}/data/${key}`, { data: { x: 2 } })
    const current = await read(key)

    expect(first.body.data).toEqual({
      version: 1,
      deletion_time: '',
      destroyed: false,
      custom_metadata: null,
      created_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?Z$/),
    })
    expect(second.body.data).toMatchObject({ version: 2 })
    expect(current.body).toMatchObject({ data: { data: { x: 2 }, metadata: second.body.data } })
    expect(current.headers['cache-control']).toBe('no-store')
    const old = await read(`${key}?version=1`)
    expect(old.body.data).toEqual({ data: { x: 1 }, metadata: first.body.data })
    for (const [version, status] of [
      ...[['0', 200] as const, ['-3', 200] as const, ['', 200] as const, ['02', 200] as const],
      ...[['3', 404] as const, ['x', 400] as const, ['1&version=2', 400] as const],
    ])
      expect((await read(`${key}?version=${version}`)).status).toBe(status)
    expect(await read(fresh())).toMatchObject({ status: 404, body: errors() })
  })

  test.each([
    [{}, 'no data provided'],
    [{ options: { cas: 99 } }, 'no data provided'],
    [{ data: 'x' }, notInMap('data', 'string')],
    [{ data: {}, options: 1 }, notInMap('options', 'json.Number')],
    [{ data: [{}, [[1]]] }, notInMap('data', 'json.Number').replace("''", "'[1][0][0]'")],
  ])('%j is refused', async (body, text) => {
    expect(await write(fresh(), body)).toMatchObject({ status: 400, body: errors(text) })
  })

  test.each([
    [{}, {}],
    [[], {}],
    [[{ a: 1 }, { b: 2 }], { a: 1, b: 2 }],
    [[[], [[{ a: 1 }], null], { b: 2 }], { a: 1, b: 2 }],
    [{ a: [{ b: null }, 'x', true] }, { a: [{ b: null }, 'x', true] }],
  ])('data %j is stored as %j', async (data, stored) => {
    const key = fresh()

    await write(key, { data })

    expect(await dataOf(key)).toEqual(stored)
  })

  test('a form has texts only, which are no data; JSON counts whatever its type is called', async () => {
    const key = fresh()
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const sent = (raw: string) =>
      server.root.write(`${mount}/data/${key}?data=ignored`, undefined, { raw, headers })

    expect(await sent('data=x')).toMatchObject({ status: 400, body: errors(notInMap('data', 'string')) })
    expect((await sent('{"data":{"x":1}}')).body.data).toMatchObject({ version: 1 })
    expect(await dataOf(key)).toEqual({ x: 1 })
  })

  test('null is stored, which is no deletion, and a merge begins with nothing', async () => {
    const key = fresh()

    expect((await write(key, { data: null })).body.data).toMatchObject({ version: 1 })
    expect(await read(key)).toMatchObject({ status: 200, body: { data: { data: null } } })
    expect((await server.root.read(`${mount}/subkeys/${key}`)).body.data).toMatchObject({ subkeys: null })
    expect((await patch(server.root, `${mount}/data/${key}`, { data: { a: 1 } })).status).toBe(200)
    expect(await dataOf(key)).toEqual({ a: 1 })
    expect((await patch(server.root, `${mount}/data/${key}`, { data: null })).status).toBe(200)
    expect(await dataOf(key)).toBeNull()
  })

  test('numbers keep their digits, through a merge too', async () => {
    const key = fresh()
    const numbers = '"n":9007199254740993,"e":1e3,"f":1.10,"m":-0,"big":123456789012345678901234567890'

    await server.root.write(`${mount}/data/${key}`, undefined, { raw: `{"data":{${numbers}}}` })
    const written = await read(key)
    await patch(server.root, `${mount}/data/${key}`, { data: { added: 1 } })

    expect(written.text).toContain(`"data":{${numbers}}`)
    expect((await read(key)).text).toContain(`"data":{${numbers},"added":1}`)
    expect((await read(`${key}?version=1`)).text).toContain(`"data":{${numbers}}`)
  })

  test('unknown fields are warnings, but not in a 404', async () => {
    const key = fresh()

    expect((await write(key, { data: {}, foo: 1, path: 'zzz', cas: 5, version: 7 })).body.warnings).toEqual([
      'Endpoint ignored these unrecognized parameters: [cas foo]',
      "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [path]",
    ])
    expect((await write(key, { data: {}, path: null })).body.warnings).toBeNull()
    await server.root.delete(`${mount}/data/${key}`)
    expect(await read(`${key}?foo=1`)).toMatchObject({ status: 404, body: { warnings: null } })
  })

  test('the number of strings and the size of data are limited, nesting is not', async () => {
    const pairs = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, `v${at}`]))
    const sized = (bytes: number) => ({ x: 'a'.repeat(bytes - '{"x":""}'.length) })

    expect((await write(fresh(), { data: pairs(499) })).status).toBe(200)
    expect((await write(fresh(), { data: pairs(500) })).body).toEqual(
      errors('refused JSON input due to high complexity: exceeded maximum number of strings'),
    )
    expect((await write(fresh(), { data: sized(1_048_576) })).status).toBe(200)
    expect((await write(fresh(), { data: sized(1_048_577) })).body).toEqual(
      errors('put failed due to value being too large; got 1048577 bytes, max: 1048576 bytes'),
    )
    const deep = fresh()
    const raw = `{"data":${'{"a":'.repeat(900)}1${'}'.repeat(901)}`
    expect((await server.root.write(`${mount}/data/${deep}`, undefined, { raw })).status).toBe(200)
    expect((await read(deep)).text).toContain(raw.slice(1, -1))
    expect((await server.root.read(`${mount}/subkeys/${deep}`)).status).toBe(200)
  })
})

describe('check-and-set', () => {
  const mismatch = 'check-and-set parameter did not match the current version'

  test.each([
    [2, 200],
    ['2', 200],
    ['0x2', 200],
    ['02', 200],
    [1, mismatch],
    [true, mismatch],
    [null, mismatch],
    ['', mismatch],
    [false, mismatch],
    ['x', 'error parsing check-and-set parameter'],
    [1.5, 'error parsing check-and-set parameter'],
    [' 2', 'error parsing check-and-set parameter'],
    [[2], 'error parsing check-and-set parameter'],
    [{}, 'error parsing check-and-set parameter'],
  ])('cas %j on version 2 gives %j', async (cas, result) => {
    const key = fresh()
    await put(server.root, `${mount}/data/${key}`, { a: 1 }, { a: 2 })

    const answer = await write(key, { data: { a: 3 }, options: { cas } })

    if (result === 200) expect(answer.body.data).toMatchObject({ version: 3 })
    else expect(answer).toMatchObject({ status: 400, body: errors(String(result)) })
  })

  test.each([{ options: { CAS: 0 } }, { cas: 0 }, { options: null }, { options: {} }, { options: [] }])(
    '%j names no version',
    async (sent) => {
      const key = fresh()
      await put(server.root, `${mount}/data/${key}`, { a: 1 })

      expect((await write(key, { data: { a: 2 }, ...sent })).body.data).toMatchObject({ version: 2 })
    },
  )

  test('zero, null and an empty text mean that there is no version', async () => {
    for (const cas of [0, null, '', false]) {
      const key = fresh()
      expect((await write(key, { data: {}, options: { cas } })).status).toBe(200)
      expect((await write(key, { data: {}, options: { cas } })).body).toEqual(errors(mismatch))
    }
  })

  test('deleted and destroyed versions count; a deleted key begins again', async () => {
    const key = fresh()
    await put(server.root, `${mount}/data/${key}`, { a: 1 })
    await server.root.delete(`${mount}/data/${key}`)

    expect((await write(key, { data: {}, options: { cas: 0 } })).body).toEqual(errors(mismatch))
    expect((await write(key, { data: {}, options: { cas: 1 } })).status).toBe(200)
    await server.root.write(`${mount}/destroy/${key}`, { versions: [2] })
    expect((await write(key, { data: {}, options: { cas: 2 } })).status).toBe(200)
    await server.root.delete(`${mount}/metadata/${key}`)
    expect((await write(key, { data: {}, options: { cas: 0 } })).body.data).toMatchObject({ version: 1 })
  })

  test('the mount or the key can require it', async () => {
    const required = errors('check-and-set parameter required for this call')
    const own = await newMount(server, 2, { cas_required: true })
    const key = fresh()
    await server.root.write(`${mount}/metadata/${key}`, { cas_required: true })

    expect((await server.root.write(`${own}/data/a`, { data: {} })).body).toEqual(required)
    expect((await write(key, { data: {} })).body).toEqual(required)
    expect((await write(key, { data: {}, options: { cas: 0 } })).status).toBe(200)
    expect((await patch(server.root, `${mount}/data/${key}`, { data: {} })).body).toEqual(required)
    expect((await server.root.delete(`${mount}/data/${key}`)).status).toBe(204)
    await server.root.write(`${own}/data/a`, { data: {}, options: { cas: 0 } })
    expect(await server.root.write(`${own}/metadata/a`, { cas_required: false })).toMatchObject({
      status: 200,
      body: {
        warnings: [
          '"cas_required" set to false, but is mandated by backend config. This value will be ignored.',
        ],
      },
    })
  })

  test('of many writers with one cas, one wins', async () => {
    const key = fresh()

    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, at) => write(key, { data: { at }, options: { cas: 0 } })),
    )

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await dataOf(key)).toEqual({ at: answers.findIndex(({ status }) => status === 200) })
  })

  test('many writers without it get consecutive versions, and no merge is lost', async () => {
    const key = fresh()
    const all = Array.from({ length: 30 }, (_, at) => at)

    const writes = await Promise.all(all.map((at) => write(key, { data: { first: at } })))
    const patches = await Promise.all(
      all.map((at) => patch(server.root, `${mount}/data/${key}`, { data: { [`p${at}`]: at } })),
    )

    const numbers = (answers: typeof writes) =>
      answers.map(({ body }) => Number(body.data?.['version'])).toSorted((a, b) => a - b)
    expect(numbers(writes)).toEqual(all.map((at) => at + 1))
    expect(numbers(patches)).toEqual(all.map((at) => at + 31))
    expect(Object.keys((await dataOf(key)) as object)).toHaveLength(31)
  })
})

describe('merges', () => {
  test('null removes, objects are merged, lists and scalars replaced', async () => {
    const key = fresh()
    await put(server.root, `${mount}/data/${key}`, { a: 1, b: { c: 2, d: 3 }, l: [1, 2], s: 'x' })

    const patched = await patch(server.root, `${mount}/data/${key}`, {
      data: { a: null, b: { c: null, e: 5 }, l: [3], n: { x: null, y: 1 } },
    })
    const again = await patch(server.root, `${mount}/data/${key}`, { data: {} })

    expect(patched).toMatchObject({ status: 200, body: { data: { version: 2, destroyed: false } } })
    expect(again.body.data).toMatchObject({ version: 3 })
    expect(await dataOf(key)).toEqual({ b: { d: 3, e: 5 }, l: [3], n: { y: 1 }, s: 'x' })
  })

  test('there must be data, a map, and the media type', async () => {
    const key = fresh()
    await put(server.root, `${mount}/data/${key}`, { x: 1 })
    const path = `${mount}/data/${key}`

    expect((await patch(server.root, path, { options: { cas: 1 } })).body).toEqual(errors('no data provided'))
    expect((await patch(server.root, path, { data: 'x' })).body).toEqual(
      errors(`Field validation failed: ${notInMap('data', 'string')}`),
    )
    expect((await server.root.call('PATCH', path, { data: {} })).status).toBe(400)
    const headers = { 'Content-Type': 'application/json' }
    expect((await server.root.call('PATCH', path, { data: {} }, { headers })).status).toBe(415)
  })

  test('a key without a version is an empty 404, a deleted version one with its metadata', async () => {
    const key = fresh()
    const path = `${mount}/data/${key}`
    const empty = { status: 404, text: '', headers: { 'content-type': 'application/json' } }

    expect(await patch(server.root, path, { data: {} })).toMatchObject(empty)
    await server.root.write(`${mount}/metadata/${key}`, { max_versions: 2 })
    expect(await patch(server.root, path, { data: {} })).toMatchObject(empty)
    await put(server.root, path, { x: 1 })
    await server.root.delete(path)
    expect(await patch(server.root, path, { data: {} })).toMatchObject({
      status: 404,
      body: { data: { version: 1, destroyed: false, deletion_time: expect.stringMatching(/Z$/) } },
    })
    expect((await patch(server.root, path, { data: {}, options: { cas: 9 } })).status).toBe(400)
    await server.root.write(`${mount}/destroy/${key}`, { versions: [1] })
    expect((await patch(server.root, path, { data: {} })).body.data).toMatchObject({ destroyed: true })
  })
})

describe('subkeys', () => {
  const data = { a: 1, b: { c: { d: 'x' }, e: [{ f: 1 }] }, empty: {}, n: null }

  test.each([
    ['', { a: null, b: { c: { d: null }, e: null }, empty: null, n: null }],
    ['?depth=0', { a: null, b: { c: { d: null }, e: null }, empty: null, n: null }],
    ['?depth=1', { a: null, b: null, empty: null, n: null }],
    ['?depth=-4', { a: null, b: null, empty: null, n: null }],
    ['?depth=2', { a: null, b: { c: null, e: null }, empty: null, n: null }],
  ])('"%s" shows %j', async (query, subkeys) => {
    const key = fresh()
    await put(server.root, `${mount}/data/${key}`, data)

    const { body } = await server.root.read(`${mount}/subkeys/${key}${query}`)

    expect(body.data).toMatchObject({ subkeys, metadata: { version: 1 } })
    expect(body.data?.['subkeys']).toEqual(subkeys)
  })

  test('of a deleted version there are none', async () => {
    const key = fresh()
    await put(server.root, `${mount}/data/${key}`, data, { z: 1 })
    await server.root.delete(`${mount}/data/${key}`)

    const deleted = await server.root.read(`${mount}/subkeys/${key}`)

    expect(deleted).toMatchObject({
      status: 404,
      body: { data: { subkeys: null, metadata: { version: 2 } } },
    })
    expect((await server.root.read(`${mount}/subkeys/${key}?version=1`)).status).toBe(200)
    expect(await server.root.read(`${mount}/subkeys/none`)).toMatchObject({ status: 404, body: errors() })
  })
})

describe('wrapping', () => {
  const headers = { 'X-Vault-Wrap-TTL': '60' }
  const unwrapped = async (wrapped: { body: { wrap_info?: { token?: unknown } } }) =>
    server.root.write('sys/wrapping/unwrap', { token: String(wrapped.body.wrap_info?.token) })

  test('a 404 that tells something is wrapped, and unwraps with its status', async () => {
    const key = fresh()
    await put(server.root, `${mount}/data/${key}`, { x: 1 })
    await server.root.delete(`${mount}/data/${key}`)

    const gone = await server.root.read(`${mount}/data/${key}`, { headers })
    const path = await server.root.read(`${mount}/nope`, { headers })
    const nothing = await server.root.call(
      'PATCH',
      `${mount}/data/${fresh()}`,
      { data: {} },
      { headers: { ...headers, 'Content-Type': 'application/merge-patch+json' } },
    )

    expect([gone.status, path.status, nothing.status]).toEqual([200, 200, 200])
    expect(await unwrapped(gone)).toMatchObject({
      status: 404,
      body: { data: { data: null, metadata: { version: 1 } } },
    })
    expect(await unwrapped(path)).toMatchObject({ status: 404, body: { data: null } })
    expect(await unwrapped(nothing)).toMatchObject({ status: 404, text: '' })
    expect(await server.root.read(`${mount}/data/none`, { headers })).toMatchObject({ status: 404 })
    expect(await server.root.list(`${mount}/metadata/none`, { headers })).toMatchObject({
      status: 404,
      body: errors('unsupported path'),
    })
  })

  test('a wrapped 404 survives a rewrap', async () => {
    const key = fresh()
    await put(server.root, `${mount}/data/${key}`, { x: 1 })
    await server.root.delete(`${mount}/data/${key}`)
    const first = await server.root.read(`${mount}/data/${key}`, { headers })

    const second = await server.root.write('sys/wrapping/rewrap', {
      token: String(first.body.wrap_info?.['token']),
    })

    expect((await unwrapped(second)).status).toBe(404)
  })
})
