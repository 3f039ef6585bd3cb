import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { caused, errors, invalidToken, notAccepted, notAllowed } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { holder, invalidPath, newMount, patch, put } from './kv-fixture.ts'

let server: TestServer
let mount: string
beforeAll(async () => {
  server = await startTestServer()
  mount = await newMount(server, 2)
  await put(server.root, `${mount}/data/a`, { x: 1 })
})
afterAll(() => server[Symbol.asyncDispose]())

const rootText = 'Non-listing operations on the root of a K/V v2 mount are not supported.'
const commands = { GET: 'get', POST: 'put', PUT: 'put', DELETE: 'delete', LIST: 'list', SCAN: 'scan' }

describe('the paths of version 2', () => {
  test.each(
    ['', '/foo', '/subkeys', '/detailed-metadata', '/config/x', '/Data/x'].flatMap((below) =>
      Object.entries(commands)
        .filter(([verb]) => !['LIST', 'SCAN'].includes(verb) || !below.startsWith('/detailed'))
        .filter(([verb]) => !['LIST', 'SCAN'].includes(verb) || !below.startsWith('/subkeys'))
        .map(([verb, command]) => ({ verb, below, command })),
    ),
  )('$verb of "$below" is an envelope with a warning', async ({ verb, below, command }) => {
    const { status, body } = await server.root.call(verb, mount + below, {})

    expect(status).toBe(404)
    expect(body).toMatchObject({ data: null, warnings: [invalidPath(command)], lease_id: '', auth: null })
    expect('errors' in body).toBe(false)
  })

  test.each(['data', 'metadata', 'delete', 'undelete', 'destroy'])(
    'the root of %s serves lists at most',
    async (name) => {
      const answers = await Promise.all([
        server.root.read(`${mount}/${name}`),
        server.root.write(`${mount}/${name}`, { versions: [1], data: {} }),
        server.root.delete(`${mount}/${name}`),
        patch(server.root, `${mount}/${name}`, { data: {} }),
      ])

      for (const { status, body } of answers) {
        expect(status).toBe(404)
        expect(body.warnings).toEqual([rootText])
      }
    },
  )

  test('a known path refuses other verbs', async () => {
    const refused = errors(caused('unsupported operation'))

    for (const [verb, path] of [
      ['LIST', 'data/a'],
      ['LIST', 'data'],
      ['GET', 'delete/a'],
      ['DELETE', 'subkeys/a'],
      ['GET', 'detailed-metadata/a'],
      ['DELETE', 'config'],
    ] as const)
      expect(await server.root.call(verb, `${mount}/${path}`)).toMatchObject({ status: 405, body: refused })
  })

  test('a slash at the end names nothing', async () => {
    for (const path of ['data/', 'metadata/', 'subkeys/', 'data/a/', 'metadata/a/', 'subkeys/a/'])
      expect(await server.root.read(`${mount}/${path}`)).toMatchObject({ status: 404, body: errors() })
    for (const path of ['data/', 'metadata/', 'data/a/', 'metadata/a/'])
      expect((await server.root.delete(`${mount}/${path}`)).status).toBe(204)
    expect(await server.root.write(`${mount}/data/a/`, { data: {} })).toMatchObject({
      status: 400,
      body: errors("cannot write to a path ending in '/'"),
    })
    expect((await server.root.read(`${mount}/data/a`)).status).toBe(200)
  })

  test('without a valid token nothing is told', async () => {
    for (const [client, body] of [
      [server.anonymous, notAccepted],
      [server.as('hvs.nobody'), invalidToken],
    ] as const) {
      for (const path of ['data/a', 'nope', 'data', 'config'])
        expect(await client.read(`${mount}/${path}`)).toMatchObject({ status: 403, body })
      expect(await client.write(`${mount}/data/a`, { data: 'x' })).toMatchObject({ status: 403 })
    }
  })

  test('without a right there, a path that exists and one that does not are the same', async () => {
    const none = await holder(server, { 'elsewhere/*': 'read' })

    for (const path of ['data/a', 'data/none', 'nope', 'data', '', 'config'])
      expect(await none.read(`${mount}/${path}`)).toMatchObject({ status: 403, body: notAllowed })
    expect((await none.write(`${mount}/data/a`, { data: 'x' })).body).toEqual(notAllowed)
    expect((await none.list(`${mount}/nope`)).body).toEqual(notAllowed)
  })

  test('the help names fields, and reads no secret', async () => {
    await put(server.root, `${mount}/data/helped`, { x: 'hush' })

    for (const path of ['', '/config', '/data/helped', '/metadata/helped', '/nope']) {
      const { status, text } = await server.root.read(`${mount}${path}?help=1`)
      expect(status).toBe(200)
      expect(text).not.toContain('hush')
    }
  })
})

describe('spellings of a path', () => {
  test('none of them reaches what a policy denies', async () => {
    const own = await newMount(server, 2)
    await put(server.root, `${own}/data/b`, { x: 1 })
    await put(server.root, `${own}/data/x/y`, { x: 1 })
    const client = await holder(server, {
      [`${own}/*`]: 'create read update patch delete list scan sudo',
      [`${own}/metadata/b`]: 'deny',
      [`${own}/data/x/y`]: 'deny',
    })

    for (const path of ['metadata/b/', 'metadata/b%2F', 'metadata/%2Fb', 'data/x%2F%2Fy', 'data/x/y/']) {
      expect((await client.read(`${own}/${path}`)).status).not.toBe(200)
      expect((await client.delete(`${own}/${path}`)).status).not.toBe(200)
    }
    expect((await client.write(`${own}/data/x%2F%2Fy`, { data: { z: 1 } })).body).toEqual(
      errors('path must not contain empty segments'),
    )
    expect((await client.write(`${own}/metadata/%2Fb`, { max_versions: 1 })).status).toBe(400)
    expect((await client.write(`${own}/destroy/x%2F%2Fy`, { versions: [1] })).status).toBe(400)
    expect((await client.read(`${own}/data/x%2Fy`)).body).toEqual(notAllowed)
    expect((await client.read(`${own}/data/%78/y`)).body).toEqual(notAllowed)
    expect((await server.root.read(`${own}/metadata/b`)).body.data).toMatchObject({ current_version: 1 })
    expect((await server.root.read(`${own}/data/x/y`)).body.data?.['data']).toEqual({ x: 1 })
  })

  test.each([
    ...['a b', ' ', 'x ', 'é', 'e\u0301', '\u{1f600}', '..a', 'a..', '.a', 'a.', '...', 'a+b', 'a?b', 'a%b'],
    ...['A', 'a:b@c=d;e,f', '*', '+', 'a\\b', '~', 'data', 'metadata/x', '__proto__', 'constructor'],
  ])('%j is a name', async (name) => {
    const own = await newMount(server, 2)
    const path = name.split('/').map(encodeURIComponent).join('/')

    await put(server.root, `${own}/data/${path}`, { name })

    expect((await server.root.read(`${own}/data/${path}`)).body.data?.['data']).toEqual({ name })
    expect((await server.root.call('SCAN', `${own}/metadata`)).body.data).toEqual({ keys: [name] })
  })

  test('control characters, relative segments and long paths are refused', async () => {
    for (const path of ['a%00', 'a%0A', 'a%7F'])
      expect(await server.root.write(`${mount}/data/${path}`, { data: {} })).toMatchObject({
        status: 400,
        text: '',
      })
    for (const path of ['a%FF', '%C3%28', '%ED%A0%80', '%C0%AFa'])
      for (const answer of [
        await server.root.write(`${mount}/data/${path}`, { data: {} }),
        await server.root.read(`${mount}/data/${path}`),
      ])
        expect(answer).toMatchObject({ status: 400, body: errors() })
    expect((await server.root.write(`${mount}/data/%2e%2e/y`, { data: {} })).body).toEqual(
      errors('relative paths not supported'),
    )
    expect((await server.root.write(`${mount}/data/${'k'.repeat(1024)}`, { data: {} })).status).toBe(200)
    expect((await server.root.write(`${mount}/data/${'k'.repeat(1025)}`, { data: {} })).body).toEqual(
      errors('put failed due to key being too large; got 1025 bytes, max: 1024 bytes'),
    )
  })
})
