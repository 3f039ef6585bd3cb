import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Client } from '../../support/client.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Names that the threat model promises to hide; each is the name of one thing. */
async function nameAll(root: Client, anonymous: Client): Promise<void> {
  const write = async (path: string, body: object = {}) => {
    const answer = await root.write(path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
    return answer.status === 204 ? undefined : answer.body.data
  }
  await write('sys/auth/legible-auth', { type: 'userpass' })
  await write('sys/auth/ar', { type: 'approle' })
  await write('sys/mounts/legible-mount', { type: 'kv', options: { version: '1' } })
  await write('sys/mounts/second', { type: 'kv', options: { version: '2' } })
  await write('sys/namespaces/legible-namespace')
  await write('auth/legible-auth/users/legible-user', { password: 'legible-password' })
  const hash = '$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
  await write('auth/legible-auth/users/legible-imported', { password_hash: hash })
  for (let guess = 0; guess < 6; guess += 1)
    await anonymous.write('auth/legible-auth/login/legible-user', { password: 'x' })
  await write('auth/ar/role/r')
  await write('auth/ar/role/r/role-id', { role_id: 'legible-role-id' })
  await write('auth/ar/role/r/custom-secret-id', { secret_id: 'legible-secret-id' })
  for (const path of ['legible-folder/legible-key', 'legible-key']) {
    await write(`legible-mount/${path}`, { a: 1 })
    await write(`second/data/${path}`, { data: { a: 1 } })
    await write(`cubbyhole/${path}`, { a: 1 })
    await write(`legible-namespace/cubbyhole/${path}`, { a: 1 })
  }
  const entity = await write('identity/entity', { name: 'legible-entity', metadata: { a: 'legible-value' } })
  const mount_accessor = (await root.read('sys/auth/legible-auth')).body.data?.['accessor']
  const alias = { name: 'legible-alias', mount_accessor }
  await write('identity/entity-alias', { ...alias, canonical_id: entity?.['id'] })
  await write('identity/group', { name: 'legible-group' })
  const group = await write('identity/group', { name: 'legible-external', type: 'external' })
  await write('identity/group-alias', { ...alias, canonical_id: group?.['id'] })
  await write('auth/token/create', { id: 'legible-token', display_name: 'legible-display' })
  await write('sys/config/auditing/request-headers/legible-header')
  await write('sys/config/ui/custom-messages', {
    title: 'legible-title',
    message: 'bGVnaWJsZS10ZXh0',
    start_time: '2024-01-01T00:00:00Z',
  })
}

test('no name of a person, a group, a secret, an entry or a mount is legible in the store', async () => {
  await using folder = await temporaryFolder()
  {
    const settings = { STORAGE: `sqlite:${folder.file('store.db')}`, SEAL_KEY: '5e'.repeat(32) }
    await using server = await startTestServer({ settings })
    await nameAll(server.root, server.anonymous)

    expect((await server.root.list('auth/legible-auth/users')).body.data?.['keys']).toEqual([
      'legible-imported',
      'legible-user',
    ])
  }

  const files = await readdir(folder.path)
  const stored = await Promise.all(files.map((file) => readFile(join(folder.path, file), 'latin1')))
  expect(stored.flatMap((text) => text.match(/legible[\w-]*/g) ?? [])).toEqual([])
})
