import sensible from '@fastify/sensible'
import { fastify } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { explorerResource } from '../../src/http/document/explorer.ts'
import type { NodeExchange } from '../../src/http/resource/node-resource.ts'
import { productVersion } from '../support/product-version.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

test.each(['/docs', '/docs/'])('%s is a page', async (path) => {
  const page = await server.anonymous.read(path)

  expect(page.status).toBe(200)
  expect(page.headers['content-type']).toContain('text/html')
})

test('everything the page loads comes from this server', async () => {
  const page = await server.anonymous.read('/docs')
  const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? '')

  expect(loaded.filter((url) => url.endsWith('.js')).length).toBeGreaterThan(1)
  for (const url of loaded) {
    expect(url).toMatch(/^\/docs\//)
    expect({ url, status: (await server.anonymous.read(url)).status }).toEqual({ url, status: 200 })
  }
})

test('the browser may load from nowhere else and show the page in no frame', async () => {
  for (const path of ['/docs', '/docs/static/swagger-initializer.js', '/docs/static/swagger-ui-bundle.js']) {
    const { headers } = await server.anonymous.read(path)

    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['content-security-policy']).toContain("script-src 'self';")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['x-content-type-options']).toBe('nosniff')
  }
})

test('the page shows the document with mounts as parameters', async () => {
  const shown = await server.anonymous.read('/docs/json')

  expect(shown.body).toEqual(
    (await server.anonymous.read('sys/internal/specs/openapi?generic_mount_paths=true')).body,
  )
  expect(shown.body['info']).toMatchObject({ title: 'Gatehouse', version: productVersion })
})

test.each([
  '/docs/nothing',
  '/docs/static/nothing.js',
  '/docs/static/%2e%2e/package.json',
  '/docs/a%5cb',
  '/docs/static/.hidden',
  '/docs/static/constructor',
  '/docs/swagger-ui.css',
])('%s is 404', async (path) => {
  const answer = await server.anonymous.read(path)

  expect(answer.status).toBe(404)
  expect(answer.body).toEqual({ errors: [] })
})

test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'LIST'])('%s is refused', async (verb) => {
  expect((await server.anonymous.call(verb, '/docs')).status).toBe(405)
})

test('there is no page below /v1', async () => {
  expect((await server.root.read('docs')).status).toBe(404)
})

test('a document that could not be made is made for the next request', async () => {
  await using app = fastify()
  await app.register(sensible)
  await app.ready()
  let isBroken = true
  const document = async () => {
    if (isBroken) throw new Error('no document')
    return { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: {} }
  }
  const { handle } = explorerResource(app, document)
  // all that the page needs from a call
  const exchange = { call: { verb: 'GET', path: 'docs/json' } } as NodeExchange
  await expect(handle(exchange)).rejects.toThrow('no document')

  isBroken = false

  expect(await handle(exchange)).toMatchObject({ status: 200 })
})

test('each file is made once, so that requests that wait for their clients share it', async () => {
  await using app = fastify()
  await app.register(sensible)
  await app.ready()
  const { handle } = explorerResource(app, async () => ({ openapi: '3.1.0', info: {}, paths: {} }))
  // the handler looks at these alone
  const request = { call: { verb: 'GET', path: 'docs/static/swagger-ui-bundle.js' } } as NodeExchange

  const [first, second] = await Promise.all([handle(request), handle(request)])
  const third = await handle(request)

  expect(first.status).toBe(200)
  expect([second.body === first.body, third.body === first.body]).toEqual([true, true])
})
