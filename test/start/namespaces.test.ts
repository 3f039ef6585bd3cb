import { expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { notAccepted } from '../support/error-bodies.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const inside = (namespace: string) => ({ headers: { 'X-Vault-Namespace': namespace } })

const tokenIn = async (root: Client, namespace: string) => {
  const { body } = await root.write('auth/token/create', { ttl: '1h' }, inside(namespace))
  return String(body['auth']?.['client_token'])
}

test('namespaces, their locks and what is in them are there after a restart', async () => {
  await using folder = await temporaryFolder()
  const first = await startProcess({ folder: folder.path })
  const root = first.as(first.rootToken)
  const made = await root.write('sys/namespaces/a', { custom_metadata: { k: 'v' } })
  await root.write('sys/namespaces/b', {}, inside('a'))
  const token = await tokenIn(root, 'a/b')
  const { body } = await root.write('sys/namespaces/api-lock/lock/a')
  await first.stop('SIGKILL')

  await using next = await startProcess({ folder: folder.path })
  const again = next.as(first.rootToken)

  expect((await again.read('sys/namespaces/a')).body['data']).toEqual({ ...made.body['data'], locked: true })
  expect((await next.as(token).read('auth/token/lookup-self', inside('a/b'))).status).toBe(503)
  expect((await again.write('sys/namespaces/api-lock/unlock/a', { unlock_key: body['data']?.['unlock_key'] })).status).toBe(204)
  expect((await next.as(token).read('auth/token/lookup-self', inside('a/b'))).status).toBe(200)
})

test('a deletion that kill -9 breaks off goes on at the next start, and nothing of the namespace is valid in between', async () => {
  await using folder = await temporaryFolder()
  const first = await startProcess({ folder: folder.path })
  const root = first.as(first.rootToken)
  await root.write('sys/namespaces/a')
  const tokens = await Promise.all(Array.from({ length: 50 }, () => tokenIn(root, 'a')))
  await root.delete('sys/namespaces/a')
  await first.stop('SIGKILL')

  await using next = await startProcess({ folder: folder.path })
  const again = next.as(first.rootToken)
  const refused = await Promise.all(tokens.map((token) => next.as(token).read('auth/token/lookup-self')))
  while ((await again.read('sys/namespaces/a')).status !== 404);

  expect(refused.filter(({ status }) => status === 200)).toEqual([])
  expect((await again.write('sys/namespaces/a')).status).toBe(200)
  expect((await next.as(String(tokens[0])).read('auth/token/lookup-self', inside('a'))).body).toEqual(notAccepted)
  expect((await again.list('auth/token/accessors')).body['data']?.['keys']).toHaveLength(1)
})
