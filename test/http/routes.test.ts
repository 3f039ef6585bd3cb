import { expect, test } from 'vitest'
import { routesOf } from '../../src/http/routes.ts'
import { startOneServer } from '../support/one-server.ts'

test('servers of one process share routes, which lead each request to the server that received it', async () => {
  await using one = await startOneServer({})
  await using other = await startOneServer({})
  await one.root.write('sys/policies/acl/only-here', { policy: 'path "a" { capabilities = ["read"] }' })
  await other.root.write('auth/token/create', { id: 'only-there', policies: ['root'] })
  expect((await one.root.read('sys/policies/acl/only-here')).status).toBe(200)
  expect((await other.root.read('sys/policies/acl/only-here')).status).toBe(404)
  expect((await one.as('only-there').read('auth/token/lookup-self')).status).toBe(403)
  expect((await other.as('only-there').read('auth/token/lookup-self')).status).toBe(200)
})

test('routes of the same paths are the same, and only those of a few lists of paths are kept', async () => {
  const first = await routesOf(['/a', '/b/:name'])
  expect(await routesOf(['/a', '/b/:name'])).toBe(first)
  expect(await routesOf(['/a'])).not.toBe(first)
  for (const url of ['/1', '/2', '/3', '/4']) await routesOf([url])
  expect(await routesOf(['/a', '/b/:name'])).not.toBe(first)
})

test('paths that Fastify refuses are refused each time', async () => {
  await expect(routesOf(['/twice', '/twice'])).rejects.toThrow('already declared')
  await expect(routesOf(['/twice', '/twice'])).rejects.toThrow('already declared')
})
