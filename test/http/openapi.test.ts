import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ApiDocument } from '../../src/http/document/openapi.ts'
import type { DocumentedRoute } from '../../src/http/resource/documented-route.ts'

const aRoute = (changes: Partial<DocumentedRoute> = {}): DocumentedRoute => ({
  group: 'jwt',
  path: '/role/:name',
  method: 'GET',
  summary: 'Read a role',
  token: 'required',
  ...changes,
})

const described = async (
  routes: readonly DocumentedRoute[],
  mounts: readonly string[],
): Promise<Record<string, Record<string, object>>> => {
  const document = new ApiDocument('1.2.3')
  document.cover(() => routes)
  const { paths } = {
    paths: {},
    ...(await document.describe(mounts.map((path) => ({ group: 'jwt', path })))),
  }
  return paths
}

test('only the first of very many mounts are described', async () => {
  const mounts = Array.from({ length: 600 }, (_, number) => `auth/m${number}/`)

  const paths = Object.keys(await described([aRoute()], mounts))

  expect(paths).toHaveLength(500)
  expect(paths[0]).toBe('/auth/m0/role/{name}')
})

test('a plugin without a mount is not described', async () => {
  expect(await described([aRoute({ group: 'cloud' })], ['auth/jwt/'])).toEqual({})
})

test('the body of a PATCH has the media type that the server requires', async () => {
  const patch = aRoute({ method: 'PATCH', body: z.object({ ttl: z.string() }) })

  const operations = (await described([patch], ['auth/jwt/']))['/auth/jwt/role/{name}']

  expect(operations?.['patch']).toMatchObject({
    requestBody: { content: { 'application/merge-patch+json': { schema: expect.any(Object) } } },
  })
})

test('a route that can only be listed requires list=true', async () => {
  const paths = await described(
    [aRoute({ path: '/role', method: 'SEARCH', summary: 'List the roles' })],
    ['auth/jwt/'],
  )

  expect(paths['/auth/jwt/role']).toEqual({
    get: expect.objectContaining({
      summary: 'List the roles',
      parameters: [
        expect.objectContaining({
          name: 'list',
          in: 'query',
          required: true,
          schema: { type: 'string', enum: ['true'] },
        }),
      ],
    }),
  })
})

test('a header that a call looks at is an optional parameter', async () => {
  const requestHeaders = { 'If-Match': 'Tag of the role' }

  const paths = await described([aRoute({ answer: { requestHeaders } })], ['auth/jwt/'])

  expect(paths['/auth/jwt/role/{name}']?.['get']).toMatchObject({
    parameters: [
      { name: 'If-Match', in: 'header', description: 'Tag of the role', schema: { type: 'string' } },
    ],
  })
})

describe('a written document', () => {
  const placesOf = (...mounts: string[]) => mounts.map((path) => ({ group: 'jwt', path }))
  const documents = () => {
    const all = new ApiDocument('1.2.3')
    all.cover(() => [aRoute()])
    return all
  }

  test('is one buffer for all who see the same mounts, also of requests at the same time', async () => {
    const all = documents()

    const [first, second] = await Promise.all([
      all.write(placesOf('auth/jwt/')),
      all.write(placesOf('auth/jwt/')),
    ])
    const other = await all.write(placesOf('auth/ci/'))

    expect(second.body).toBe(first.body)
    expect((await all.write(placesOf('auth/jwt/'))).body).toBe(first.body)
    expect(other.etag).not.toBe(first.etag)
    expect(other.body.toString()).toContain('/auth/ci/role/{name}')
  })

  test('is kept until too many bytes of others were written since its last use', async () => {
    const all = documents()
    const many = (from: number) =>
      placesOf(...Array.from({ length: 500 }, (_, at) => `${'m'.repeat(900)}${from + at}/`))
    const used = await all.write(placesOf('auth/used/'))
    const unused = await all.write(placesOf('auth/unused/'))

    for (let bytes = 0, from = 0; bytes < 80 * 1024 * 1024; from += 1) {
      bytes += (await all.write(many(from))).body.length
      await all.write(placesOf('auth/used/'))
    }

    expect((await all.write(placesOf('auth/used/'))).body).toBe(used.body)
    const again = await all.write(placesOf('auth/unused/'))
    expect(again.body).not.toBe(unused.body)
    expect(again.etag).toBe(unused.etag)
  })
})
