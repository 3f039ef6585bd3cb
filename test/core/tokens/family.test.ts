import { expect, test } from 'vitest'
import { maxGenerations } from '../../../src/core/tokens/token-store.ts'
import { aMount, openTokenHouse } from '../../support/token-house.ts'

type House = Awaited<ReturnType<typeof openTokenHouse>>

/** A family of so many generations below root, root the first; the last one's token. */
async function lineOf(house: House, generations: number) {
  let token = house.root
  for (let generation = 2; generation <= generations; generation += 1) {
    const { auth } = await house.create({ policies: ['web'] }, { caller: token, sudo: true })
    token = await house.lookup(auth.client_token)
  }
  return token
}

test('a family of the maximum depth ends with its head, from the lowest up', async () => {
  await using house = await openTokenHouse()
  const head = await lineOf(house, 2)
  let last = head
  for (let generation = 3; generation <= maxGenerations; generation += 1) {
    last = await house.lookup((await house.create({}, { caller: last, sudo: true })).auth.client_token)
  }
  expect(await house.tokens.generationOf(last)).toBe(maxGenerations)

  await expect(house.create({}, { caller: last, sudo: true })).rejects.toMatchObject({
    message: 'a token cannot have more than 999 ancestors',
    kind: 'invalid',
    wrapped: false,
  })
  expect((await house.create({}, { caller: last, sudo: true, form: 'create-orphan' })).auth.orphan).toBe(true)
  await house.revoker.revoke(head.accessor)

  expect(house.revoked).toHaveLength(maxGenerations - 1)
  expect(house.revoked[0]?.accessor).toBe(last.accessor)
  expect(house.revoked.at(-1)?.accessor).toBe(head.accessor)
})

test('a family whose head became an orphan may grow again', async () => {
  await using house = await openTokenHouse()
  const middle = await lineOf(house, 3)
  const last = await house.lookup((await house.create({}, { caller: middle, sudo: true })).auth.client_token)
  expect(await house.tokens.generationOf(last)).toBe(4)

  await house.revoker.revokeOrphan(middle.accessor)

  expect(await house.tokens.generationOf(await house.tokens.lookupByAccessor(last.accessor).then((token) => token ?? last))).toBe(1)
})

test('a server that stops between the first write of a revocation and the last ends the family at its next start', async () => {
  await using house = await openTokenHouse()
  const head = await lineOf(house, 2)
  const child = await house.create({}, { caller: head, sudo: true })
  house.house.cleanUpFails = true
  await house.revoker.revoke(head.accessor).catch(() => undefined)
  house.house.cleanUpFails = false

  const { tokens } = await house.restarted()
  expect(await tokens.lookup(child.auth.client_token)).toBeUndefined()
  await house.revoker.sweepPage()

  expect(await house.view.listKeys('child/')).toEqual([])
  expect(await house.view.listKeys('token/')).toHaveLength(1)
})

test('a deleted namespace revokes its tokens and their descendants, and nothing else', async () => {
  await using house = await openTokenHouse()
  const mount = aMount({ path: 'auth/token/', plugin: 'token', namespace: 'aB3xY9', accessor: 'auth_token_2' })
  house.mounts.set(mount.accessor, mount)
  const inside = await house.create({ policies: ['web'] }, { mount })
  const outside = await house.create({ policies: ['web'] })

  await house.revoker.removeNamespace('aB3xY9')

  expect(await house.tokens.lookup(inside.auth.client_token)).toBeUndefined()
  expect(await house.tokens.lookup(outside.auth.client_token)).toBeDefined()
  expect(await house.view.listKeys('token/')).toHaveLength(2)
})

test('a page of tokens skips what cannot be read, and paging never ends before the last', async () => {
  await using house = await openTokenHouse()
  for (let number = 0; number < 5; number += 1) await house.login()
  const keys = await house.view.listKeys('token/')
  for (const key of keys.slice(0, 2)) await house.view.write([{ key, value: 'no token' }])
  const unreadable: string[] = []

  const seen: string[] = []
  for (let after: string | undefined; ; ) {
    const page = await house.tokens.scan({ limit: 2, ...(after === undefined ? {} : { after }) }, (hash) => unreadable.push(hash))
    if (page.length === 0) break
    seen.push(...page.map(({ hash }) => hash))
    after = seen.at(-1)
  }

  expect(seen.map((hash) => `token/${hash}`)).toEqual(keys.slice(2))
  expect(unreadable.map((hash) => `token/${hash}`)).toEqual(keys.slice(0, 2))
})
