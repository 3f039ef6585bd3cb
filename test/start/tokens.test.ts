import { expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { startInFolder } from '../support/folder-server.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const families = 12
const childrenEach = 8

/**
 * A parent with children, one of which has children of its own, and one a batch token; each member with
 * something in its cubbyhole.
 */
async function family(root: Client) {
  const make = async (parent: Client, input: object = {}) => {
    const { body } = await parent.write('auth/token/create', { ttl: '1h', ...input })
    return String(body.auth?.client_token)
  }
  const head = await make(root)
  const below = await Promise.all(Array.from({ length: childrenEach }, () => make(root.with(head))))
  const lowest = await Promise.all(below.slice(0, 3).map((id) => make(root.with(id))))
  const batch = await make(root.with(head), { type: 'batch', policies: ['default'] })
  for (const id of [head, ...below]) await root.with(id).write('cubbyhole/a', { id })
  return { head, below: [...below, ...lowest, batch] }
}

test('after kill -9 during revocations, each token family is either intact or gone without remains', async () => {
  await using folder = await temporaryFolder()
  const heads: { head: string; below: string[] }[] = []
  const answered = new Set<string>()
  {
    await using server = await startProcess({ folder: folder.path })
    const root = server.as(server.rootToken)
    for (let at = 0; at < families; at += 1) heads.push(await family(root))
    const work = heads.map(async ({ head }) => {
      const { status } = await root.write('auth/token/revoke', { token: head })
      if (status === 204) answered.add(head)
      if (answered.size === 2) server.signal('SIGKILL')
    })
    await Promise.allSettled(work)
  }

  await using server = await startInFolder({ folder: folder.path })
  const isGood = async (id: string) => (await server.as(id).read('auth/token/lookup-self')).status === 200
  let whole = 0
  for (const { head, below } of heads) {
    const isThere = await isGood(head)
    if (answered.has(head)) expect(isThere).toBe(false)
    for (const id of below) expect(await isGood(id)).toBe(isThere)
    if (isThere) {
      whole += 1
      expect((await server.as(head).write('auth/token/revoke-self')).status).toBe(204)
      for (const id of below) expect(await isGood(id)).toBe(false)
    }
  }
  expect(answered.size + whole).toBeGreaterThan(0)
})
