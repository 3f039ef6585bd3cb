import { expect, test } from 'vitest'
import { openLeaseFixture } from '../../support/lease-fixture.ts'

test('what an engine keeps until there is a lease is deleted in the write that stores the lease', async () => {
  await using fixture = await openLeaseFixture()
  const place = fixture.view.view('engine/')
  await place.write([{ key: 'intent', value: true }])
  const secret = {
    ttl: 60,
    maxTtl: 0,
    renewable: true,
    internal: { credential: 'x', role: 'ci' },
    alongside: ({ id }: { id: string }) => [
      place.fromRoot({ key: 'intent', value: undefined }),
      place.fromRoot({ key: 'row', value: id }),
    ],
  }

  const { id } = await fixture.leases.issue({
    caller: { token: fixture.root },
    mount: fixture.practice,
    path: 'practice/creds/ci',
    secret,
  })

  expect(await place.list('')).toMatchObject([{ key: 'row', value: id }])
  expect(await fixture.leases.find(fixture.ref(id))).toMatchObject({ id, internal: { credential: 'x' } })
})

test('a secret without a lease is revoked after the engine has finished, and the engine is notified', async () => {
  await using fixture = await openLeaseFixture()
  const { credential } = await fixture.issue()
  const told: boolean[] = []
  const secret = {
    ttl: 60,
    maxTtl: 0,
    renewable: true,
    internal: { credential, role: 'ci' },
    // an expectation that cannot hold
    alongside: () => [{ key: 'nowhere', value: true, expect: 99 }],
    abandoned: () => void told.push(fixture.provider.alive.has(credential)),
  }
  const rows = await fixture.rows()

  const issue = fixture.leases.issue({
    caller: { token: fixture.root },
    mount: fixture.practice,
    path: 'practice/creds/ci',
    secret,
  })

  await expect(issue).rejects.toMatchObject({ kind: 'internal', message: 'internal error' })
  expect(told).toEqual([false])
  expect(await fixture.rows()).toEqual(rows)
})
