import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { caused, errors } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { holder, newMount, patch, put } from './kv-fixture.ts'

const clock = new FakeClock()
let server: TestServer
let mount: string
beforeAll(async () => {
  server = await startTestServer({ clock })
  mount = await newMount(server, 2)
})
afterAll(() => server[Symbol.asyncDispose]())

let made = 0
const fresh = () => `f${++made}`
const path = (key: string) => `${mount}/metadata/${key}`
const shown = async (key: string) => (await server.root.read(path(key))).body.data
const write = (key: string, body: unknown) => server.root.write(path(key), body)
const merge = (key: string, body: unknown) => patch(server.root, path(key), body)
const failed = (text: string) => `custom_metadata validation failed: ${text}`

describe('metadata', () => {
  test('a write without a settable field makes and checks nothing', async () => {
    const key = fresh()

    for (const body of [{}, undefined, { foo: 1 }, { metadata_cas: 7 }, { delete_version_after: null }])
      expect((await write(key, body)).status).toBe(204)

    expect(await server.root.read(path(key))).toMatchObject({ status: 404, body: errors() })
  })

  test('a key may have metadata alone', async () => {
    const key = fresh()

    expect(await write(key, { max_versions: 0 })).toMatchObject({ status: 204, text: '' })

    expect(await shown(key)).toMatchObject({
      versions: {},
      current_version: 0,
      oldest_version: 0,
      current_metadata_version: 1,
      cas_required: false,
      custom_metadata: null,
      delete_version_after: '0s',
      max_versions: 0,
      metadata_cas_required: false,
      created_time: expect.stringMatching(/Z$/),
    })
    expect(await server.root.read(`${mount}/data/${key}`)).toMatchObject({ status: 404, body: errors() })
    expect((await server.root.list(`${mount}/metadata`)).body.data?.['keys']).toContain(key)
  })

  test('the fields that a write does not name stay', async () => {
    const key = fresh()

    await server.root.call('PUT', path(key), {
      max_versions: 5,
      cas_required: true,
      delete_version_after: '1h30m',
      custom_metadata: { owner: 'me' },
    })
    await write(key, { cas_required: false })
    await write(key, { max_versions: '7', path: 'zzz', foo: 1 })

    expect(await shown(key)).toMatchObject({
      max_versions: 7,
      cas_required: false,
      delete_version_after: '1h30m0s',
      custom_metadata: { owner: 'me' },
      current_metadata_version: 3,
    })
    const { body } = await server.root.read(`${path(key)}?foo=1`)
    expect(body.warnings).toEqual(['Endpoint ignored these unrecognized parameters: [foo]'])
  })

  test.each([
    [{ max_versions: 'x' }, /^error converting input for field "max_versions": /],
    [{ delete_version_after: '-1s' }, /cannot provide negative value '-1'$/],
    [
      { custom_metadata: 1 },
      /expected type 'map\[string\]interface \{\}', got unconvertible type 'json.Number'$/,
    ],
    [{ metadata_cas: 'x' }, /^error converting input for field "metadata_cas": /],
    [{ max_versions: -1 }, /^max_versions must be between 0 and 4294967295$/],
  ])('%j is refused', async (body, text) => {
    const key = fresh()

    expect((await write(key, body)).body).toEqual(errors(expect.stringMatching(text)))
    expect(await shown(key)).toBeUndefined()
    await write(key, { max_versions: 3 })
    expect((await merge(key, body)).status).toBe(400)
  })

  test('who wrote and deleted is shown', async () => {
    const key = fresh()
    const rootClient = hash('sha256', 'root\x1f\x1eroot', 'base64')
    await put(server.root, `${mount}/data/${key}`, { x: 1 })
    await server.root.delete(`${mount}/data/${key}`)

    expect(await shown(key)).toMatchObject({
      last_updated_by: { actor: 'token', operation: 'create', entity_id: '', client_id: rootClient },
      versions: {
        '1': {
          created_by: { actor: 'token', operation: 'create', client_id: rootClient },
          deleted_by: { actor: 'token', operation: 'delete', client_id: rootClient },
        },
      },
    })
  })

  test('the client of a token without an entity is a hash of its policies, otherwise the entity', async () => {
    const rights = { [`${mount}/data/*`]: 'create update' }
    const clients = []
    const holders = await Promise.all([holder(server, rights), holder(server, rights)])
    for (const client of [...holders, holders[0]]) {
      const key = fresh()
      await client?.write(`${mount}/data/${key}`, { data: { x: 1 } })
      clients.push((await shown(key))?.['last_updated_by'])
    }

    expect(clients).toMatchObject(Array(3).fill({ client_id: expect.stringMatching(/^[\w+/]{43}=$/) }))
    expect(clients[2]).toEqual(clients[0])
    expect(clients[1]).not.toEqual(clients[0])
  })

  test('updated_time is moved by every change of the key, and by nothing else', async () => {
    const key = fresh()
    const data = `${mount}/data/${key}`
    const versions = (call: string, ...numbers: number[]) =>
      server.root.write(`${mount}/${call}/${key}`, { versions: numbers })
    const moves = async (work: () => Promise<unknown>) => {
      const before = (await shown(key))?.['updated_time']
      clock.advance(1)
      await work()
      return (await shown(key))?.['updated_time'] !== before
    }

    for (const [name, change] of Object.entries({
      write: () => put(server.root, data, { x: 1 }),
      patch: () => patch(server.root, data, { data: { y: 1 } }),
      'metadata write': () => write(key, { max_versions: 3 }),
      'metadata patch': () => merge(key, { max_versions: 4 }),
      delete: () => server.root.delete(data),
      undelete: () => versions('undelete', 2),
      'delete of an old version': () => versions('delete', 1),
      'undelete of an old version': () => versions('undelete', 1),
      restore: () => server.root.write(`${mount}/restore/${key}`, { version: 1 }),
      'destroy of an old version': () => versions('destroy', 1),
      'delete before its repetition': () => versions('delete', 3),
    }))
      expect([name, await moves(change)]).toEqual([name, true])
    for (const [name, call] of Object.entries({
      'an empty metadata write': () => write(key, {}),
      'a second delete': () => versions('delete', 3),
      'an undelete of a living version': () => versions('undelete', 2),
      'an undelete of a destroyed version': () => versions('undelete', 1),
      'a second destroy': () => versions('destroy', 1),
      'a version that is not there': () => versions('destroy', 9),
    }))
      expect([name, await moves(call)]).toEqual([name, false])
  })

  test('updated_time is not moved when delete_version_after runs out', async () => {
    const key = fresh()
    await write(key, { delete_version_after: '1m' })
    await put(server.root, `${mount}/data/${key}`, { x: 1 })
    const before = (await shown(key))?.['updated_time']

    clock.advance(61)

    expect((await server.root.read(`${mount}/data/${key}`)).status).toBe(404)
    expect((await shown(key))?.['updated_time']).toBe(before)
  })

  test.each([
    { ofMount: {}, ofKey: {}, most: 10, after: '0s' },
    { ofMount: { max_versions: 5 }, ofKey: { max_versions: 3 }, most: 5, after: '0s' },
    { ofMount: { max_versions: 2 }, ofKey: { max_versions: 30 }, most: 30, after: '0s' },
    { ofMount: { delete_version_after: '1h' }, ofKey: {}, most: 10, after: '1h0m0s' },
    {
      ofMount: { delete_version_after: '1h' },
      ofKey: { delete_version_after: '90s' },
      most: 10,
      after: '1m30s',
    },
    {
      ofMount: { delete_version_after: '-1s' },
      ofKey: { delete_version_after: '90s' },
      most: 10,
      after: '0s',
    },
  ])(
    'limits in effect are shown beside those set: $ofMount, $ofKey',
    async ({ ofMount, ofKey, most, after }) => {
      const own = await newMount(server, 2)
      await server.root.write(`${own}/config`, ofMount)
      await server.root.write(`${own}/metadata/a`, { cas_required: true, ...ofKey })
      const inEffect = { effective_max_versions: most, effective_delete_version_after: after }
      const set = {
        max_versions: ofKey.max_versions ?? 0,
        delete_version_after: ofKey.delete_version_after === undefined ? '0s' : '1m30s',
      }

      expect((await server.root.read(`${own}/metadata/a`)).body.data).toMatchObject({ ...set, ...inEffect })
      const { body } = await server.root.list(`${own}/detailed-metadata`)
      expect(body.data?.['key_info']).toMatchObject({ a: { ...set, ...inEffect } })
      expect((await server.root.read(`${own}/config`)).body.data).toMatchObject({
        effective_max_versions: ofMount.max_versions ?? 10,
      })
    },
  )
})

describe('custom metadata', () => {
  test.each([
    [
      { a: 'b', n: 1, f: 1.5, t: true, no: false },
      { a: 'b', n: '1', f: '1.5', t: '1', no: '0' },
    ],
    [[{ p: 'q' }, { r: 's' }], { p: 'q', r: 's' }],
    [{}, null],
    [null, null],
    [JSON.parse('{"__proto__":"x","10":"y"}'), JSON.parse('{"10":"y","__proto__":"x"}')],
  ])('%j is shown as %j, with every version', async (sent, kept) => {
    const key = fresh()
    await write(key, { custom_metadata: { old: 'gone' } })

    expect((await write(key, { custom_metadata: sent })).status).toBe(204)
    const written = await put(server.root, `${mount}/data/${key}`, { x: 1 }, { x: 2 })

    expect((await shown(key))?.['custom_metadata']).toEqual(kept)
    expect(written.body.data?.['custom_metadata']).toEqual(kept)
    const old = await server.root.read(`${mount}/data/${key}?version=1`)
    expect(old.body.data?.['metadata']?.['custom_metadata']).toEqual(kept)
    const subkeys = await server.root.read(`${mount}/subkeys/${key}`)
    expect(subkeys.body.data?.['metadata']?.['custom_metadata']).toEqual(kept)
  })

  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))

  test.each([
    [many(65), caused(failed('payload must contain at most 64 keys, provided 65'))],
    [
      { ['k'.repeat(129)]: 'v' },
      caused(failed(`length of key "${'k'.repeat(129)}" is 129 but must be 0 < len(key) <= 128`)),
    ],
    [{ k: '' }, caused(failed('length of value for key "k" is 0 but must be 0 < len(value) <= 512'))],
    [
      { k: 'é'.repeat(257) },
      caused(failed('length of value for key "k" is 514 but must be 0 < len(value) <= 512')),
    ],
    [{ k: 'v\n' }, caused(failed('value for key "k" contains unprintable characters'))],
    [{ 'k\n': 'v' }, caused(failed('key "k\\n" (k\n) contains unprintable characters'))],
    [{ k: ['v'] }, failed("'' expected type 'string', got unconvertible type '[]interface {}'")],
    [
      { k: '', l: '\t' },
      `2 errors occurred:\n\t* ${failed('length of value for key "k" is 0 but must be 0 < len(value) <= 512')}\n\t* ${failed('value for key "l" contains unprintable characters')}\n\n`,
    ],
  ])('%j is refused', async (custom_metadata, text) => {
    const key = fresh()

    expect(await write(key, { custom_metadata })).toMatchObject({ status: 400, body: errors(text) })
    expect(await merge(key, { custom_metadata })).toMatchObject({ status: 400, body: errors(text) })
    await write(key, { max_versions: 3 })
    expect(await merge(key, { custom_metadata })).toMatchObject({ status: 400, body: errors(text) })
  })

  test('the limit counts the merged pairs', async () => {
    const key = fresh()
    await write(key, { custom_metadata: many(64) })

    expect((await merge(key, { custom_metadata: { more: 'x' } })).status).toBe(400)
    expect((await merge(key, { custom_metadata: { more: 1, k0: null } })).status).toBe(204)
    expect((await shown(key))?.['custom_metadata']).toMatchObject({ more: '1', k1: 'v' })
  })
})

describe('merges of metadata', () => {
  test('null resets a field or removes a pair', async () => {
    const key = fresh()
    await write(key, {
      max_versions: 7,
      delete_version_after: '1h',
      cas_required: true,
      custom_metadata: { a: '1', b: '2' },
    })

    expect((await merge(key, { custom_metadata: { a: null, c: '3', missing: null } })).status).toBe(204)
    expect((await shown(key))?.['custom_metadata']).toEqual({ b: '2', c: '3' })
    await merge(key, { max_versions: null, cas_required: null, delete_version_after: null })
    expect(await shown(key)).toMatchObject({
      max_versions: 0,
      cas_required: false,
      delete_version_after: '0s',
      current_metadata_version: 3,
    })
    await merge(key, { delete_version_after: '2h', current_version: 9, versions: {} })
    await merge(key, { delete_version_after: '0s' })
    expect(await shown(key)).toMatchObject({ delete_version_after: '0s', current_version: 0 })
    await merge(key, { custom_metadata: {} })
    expect((await shown(key))?.['custom_metadata']).toEqual({ b: '2', c: '3' })
    await merge(key, { custom_metadata: null })
    expect((await shown(key))?.['custom_metadata']).toBeNull()
  })

  test('an unknown key is an empty 404, unless nothing is set', async () => {
    const key = fresh()

    expect(await merge(key, { max_versions: 1 })).toMatchObject({ status: 404, text: '' })
    for (const body of [{}, { foo: 1 }, { metadata_cas: 3 }])
      expect(await merge(key, body)).toMatchObject({ status: 204, text: '' })
    await put(server.root, `${mount}/data/${key}`, { x: 1 })
    await merge(key, { foo: 1 })
    expect((await shown(key))?.['current_metadata_version']).toBe(0)
  })
})

describe('check-and-set of metadata', () => {
  const stale = errors('metadata check-and-set parameter does not match the current version')
  const required = errors('metadata check-and-set parameter required for this call')

  test('it counts writes of metadata, not those of data', async () => {
    const key = fresh()

    expect((await write(key, { metadata_cas: 1, max_versions: 1 })).body).toEqual(
      errors('metadata_cas must be 0 when creating new metadata'),
    )
    expect((await write(key, { metadata_cas: 0, max_versions: 1 })).status).toBe(204)
    expect((await write(key, { metadata_cas: 0, max_versions: 2 })).body).toEqual(stale)
    expect((await write(key, { metadata_cas: '1', max_versions: 2 })).status).toBe(204)
    await put(server.root, `${mount}/data/${key}`, { x: 1 })
    expect((await merge(key, { metadata_cas: 1, max_versions: 3 })).body).toEqual(stale)
    expect((await merge(key, { metadata_cas: 2, metadata_cas_required: true })).status).toBe(204)
    expect((await write(key, { max_versions: 4 })).body).toEqual(required)
    expect((await merge(key, { max_versions: 4 })).body).toEqual(required)
    expect((await server.root.delete(path(key))).status).toBe(204)
  })

  test('the mount can require it, and says which settings it overrules', async () => {
    const own = await newMount(server, 2, { metadata_cas_required: true, cas_required: true })
    const key = `${own}/metadata/a`
    const overruled = (name: string) =>
      `"${name}" set to false, but is mandated by backend config. This value will be ignored.`
    const both = [overruled('cas_required'), overruled('metadata_cas_required')]
    const off = { cas_required: false, metadata_cas_required: false }

    expect((await server.root.write(key, { max_versions: 5 })).body).toEqual(required)
    expect((await server.root.write(key, { max_versions: 5, metadata_cas: 0 })).status).toBe(204)
    expect((await server.root.write(key, { ...off, metadata_cas: 1 })).body).toMatchObject({
      data: null,
      warnings: both,
    })
    expect((await patch(server.root, key, { ...off, metadata_cas: 2 })).body.warnings).toEqual(both)
    expect((await server.root.write(key, {})).status).toBe(204)
    expect((await server.root.delete(key)).status).toBe(204)
  })
})
