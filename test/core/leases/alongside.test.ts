import { expect, test } from 'vitest'
import { openLeaseHouse } from '../../support/lease-house.ts'

test('what an engine keeps until there is a lease is deleted in the write that stores the lease', async () => {
  await using house = await openLeaseHouse()
  const place = house.view.view('engine/')
  await place.write([{ key: 'intent', value: true }])
  const secret = {
    ...{ ttl: 60, maxTtl: 0, renewable: true, internal: { credential: 'x', role: 'ci' } },
    alongside: ({ id }: { id: string }) => [place.fromRoot({ key: 'intent', value: undefined }), place.fromRoot({ key: 'row', value: id })],
  }

  const { id } = await house.leases.issue({ caller: { token: house.root }, mount: house.practice, path: 'practice/creds/ci', secret })

  expect(await place.list('')).toMatchObject([{ key: 'row', value: id }])
  expect(await house.leases.find(house.ref(id))).toMatchObject({ id, internal: { credential: 'x' } })
})

test('a secret without a lease is revoked after the engine has had its turn, and the engine is told', async () => {
  await using house = await openLeaseHouse()
  const { credential } = await house.issue()
  const told: boolean[] = []
  const secret = {
    ...{ ttl: 60, maxTtl: 0, renewable: true, internal: { credential, role: 'ci' } },
    // an expectation that cannot hold
    alongside: () => [{ key: 'nowhere', value: true, expect: 99 }],
    abandoned: () => void told.push(house.provider.alive.has(credential)),
  }
  const rows = await house.rows()

  const issue = house.leases.issue({ caller: { token: house.root }, mount: house.practice, path: 'practice/creds/ci', secret })

  await expect(issue).rejects.toMatchObject({ kind: 'internal', message: 'internal error' })
  expect(told).toEqual([false])
  expect(await house.rows()).toEqual(rows)
})
