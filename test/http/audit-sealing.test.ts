import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { PluginDefinition } from '../../src/http/resource/plugin.ts'
import { resource } from '../../src/http/resource/resource.ts'
import type { Json } from '../support/client.ts'
import { errors } from '../support/error-bodies.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A mount type whose handler needs no storage, and responds when the test says so. */
function heldType() {
  const [entered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const handle = async () => {
    entered.resolve()
    await released.promise
    return { data: { text: 'secret' } }
  }
  const definition: PluginDefinition = {
    table: 'secret',
    names: ['held'],
    open: () => ({
      resources: [resource('/text', { help: 'A text.', read: { summary: 'Read the text', handle } })],
    }),
  }
  return { definition, entered: entered.promise, release: released.resolve }
}

test('a response that is ready after the server was sealed is withheld, and the chain is closed', async () => {
  await using folder = await temporaryFolder()
  const file = folder.file('audit/audit.log')
  const held = heldType()
  const device = { path: 'file', type: 'file', options: { file_path: file } }
  const key = randomBytes(32).toString('hex')
  await using server = await startTestServer({
    settings: {
      STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
      SEAL_KEY: key,
      AUDIT: JSON.stringify([device]),
      AUDIT_DIRS: folder.file('audit'),
    },
    plugins: [held.definition],
  })
  await server.root.write('sys/mounts/held', { type: 'held' })
  const answer = server.root.read('held/text')
  await held.entered

  expect(await server.root.call('PUT', 'sys/seal')).toMatchObject({ status: 204 })
  held.release()

  expect(await answer).toMatchObject({ status: 503, body: errors('Vault is sealed') })
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  const kinds = lines.map((line): string => {
    const { type, event, request }: Json = JSON.parse(line)
    return [type, event ?? request?.['path']].filter((text) => text !== undefined).join(' ')
  })
  expect(kinds.slice(-4)).toEqual(['request held/text', 'request sys/seal', 'chain close', 'checkpoint'])

  expect(await server.anonymous.call('PUT', 'sys/unseal', { key })).toMatchObject({ status: 200 })
  const resumed: Json = JSON.parse((await readFile(file, 'utf8')).trim().split('\n')[lines.length] ?? '')
  expect(resumed).toMatchObject({ type: 'chain', event: 'resume', reason: 'restart' })
  const last: Json = JSON.parse(lines.at(-1) ?? '')
  const { body } = await server.root.read('sys/audit-chain')
  expect(body['data']?.['heads']?.['0']).toMatchObject({ device: 'file/', seq: last['chain']?.['seq'] })
})
