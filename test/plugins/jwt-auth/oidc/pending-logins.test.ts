import { describe, expect, test } from 'vitest'
import type { View } from '../../../../src/core/barrier/view.ts'
import { systemRandom } from '../../../../src/lib/system/random.ts'
import type { LoginStart } from '../../../../src/plugins/jwt-auth/oidc/pending-login.ts'
import { type PendingLimits, PendingLogins } from '../../../../src/plugins/jwt-auth/oidc/pending-logins.ts'
import { openCoreView } from '../../../support/core-view.ts'
import type { FakeClock } from '../../../support/fake-clock.ts'

const start: LoginStart = {
  role: 'test',
  redirect_uri: 'https://x',
  bound_audiences: [],
  max_age: 0,
  clientNonce: '',
  usesCode: true,
  mode: 'client',
}

/** Several servers over one store. */
function servers(view: View, clock: FakeClock, limits?: PendingLimits): [PendingLogins, PendingLogins] {
  const parts = {
    view,
    clock,
    random: systemRandom,
    isShared: true,
    ...(limits === undefined ? {} : { limits }),
  }
  return [new PendingLogins(parts), new PendingLogins(parts)]
}

const throttled = 'too many logins of this address are waiting for their callback'
const allKeys = (view: View) => view.listKeys('oidc/')

describe('a pending login', () => {
  test('reaches another server, once', async () => {
    await using opened = await openCoreView()
    const [one, other] = servers(opened.view, opened.clock)
    const { state, login } = await one.begin(start, '10.0.0.1')

    const found = await Promise.all([other.take(state), one.take(state), other.take(state), one.take(state)])

    expect(found.filter((each) => each !== undefined)).toEqual([login])
    expect(await one.take(state)).toBeUndefined()
    expect((await allKeys(opened.view)).filter((key) => key !== 'oidc/keys')).toEqual([])
  })

  test('what it needs from a provider is asked only while its address has room, and a failure leaves nothing', async () => {
    await using opened = await openCoreView()
    const [one] = servers(opened.view, opened.clock, { mount: 10, address: 1 })
    let asked = 0
    const prepare = async () => {
      asked += 1
      if (asked === 1) throw new Error('refused')
      return { device_code: 'd', interval: 5 }
    }

    await expect(one.begin(start, '10.0.0.1', prepare)).rejects.toThrow('refused')
    expect((await allKeys(opened.view)).filter((key) => key !== 'oidc/keys')).toEqual([])
    const { login } = await one.begin(start, '10.0.0.1', prepare)
    await expect(one.begin(start, '10.0.0.1', prepare)).rejects.toThrow(throttled)

    expect(login).toMatchObject({ device_code: 'd', interval: 5 })
    expect(asked).toBe(2)
  })

  test('a concurrent form does not make the login fail', async () => {
    await using opened = await openCoreView()
    const [one, other] = servers(opened.view, opened.clock)
    for (let round = 0; round < 20; round++) {
      const { state } = await one.begin(start, '10.0.0.1')
      opened.clock.advance(0.001)

      const [, taken] = await Promise.all([
        one.keepPosted(state, { code: 'c', id_token: '', refused: false, issuer: '' }),
        other.take(state),
      ])

      expect(taken?.redirect_uri).toBe(start.redirect_uri)
      expect(await one.take(state)).toBeUndefined()
    }
    expect((await allKeys(opened.view)).filter((key) => key !== 'oidc/keys')).toEqual([])
  })

  test('a confirmation reaches another server, once, and only for the form it was shown for', async () => {
    await using opened = await openCoreView()
    const [one, other] = servers(opened.view, opened.clock)
    const form = { code: 'c', id_token: '', refused: false, issuer: '' }
    const { state } = await one.begin(start, '10.0.0.1')
    const shown = await one.keepPosted(state, form)
    const seen: string[] = []
    const used = ({ confirmation }: { confirmation: string }) => {
      if (confirmation !== shown?.confirmation) throw new Error('not this one')
      seen.push(confirmation)
    }

    const both = await Promise.allSettled([one.confirm(state, used), other.confirm(state, used)])
    const replaced = await other.keepPosted(state, { ...form, code: 'another' })

    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(replaced).toMatchObject({
      confirmed: false,
      code: 'another',
      confirmation: expect.stringMatching(/^\w{43}$/),
    })
    await expect(one.confirm(state, used)).rejects.toThrow('not this one')
  })

  test('expires after ten minutes and is then removed', async () => {
    await using opened = await openCoreView()
    const { clock } = opened
    const [one, other] = servers(opened.view, clock)
    const early = await one.begin(start, '10.0.0.1')
    clock.advance(300)
    const late = await one.begin(start, '10.0.0.2')
    clock.advance(299)
    expect(
      await other.keepPosted(early.state, { code: 'c', id_token: '', refused: false, issuer: '' }),
    ).toMatchObject({ code: 'c', created: early.login.created })
    clock.advance(301)

    // the posted form kept the first one alive
    expect(await other.take(late.state)).toBeUndefined()
    expect(await other.total()).toBe(1)
    await other.sweep()
    expect(await other.take(early.state)).toMatchObject({ code: 'c' })
    const last = await one.begin(start, '10.0.0.1')
    clock.advance(600)
    expect(
      await other.keepPosted(last.state, { code: 'c', id_token: '', refused: false, issuer: '' }),
    ).toBeUndefined()
    await other.sweep()
    expect(await allKeys(opened.view)).toEqual(['oidc/keys'])
  })

  test('storage keys reveal nothing about it', async () => {
    await using opened = await openCoreView()
    const [one] = servers(opened.view, opened.clock)
    const { state } = await one.begin(start, '10.20.30.40')

    const keys = (await allKeys(opened.view)).join()

    expect(keys).not.toContain(state)
    expect(keys).not.toContain('10.20.30.40')
  })
})

describe('the limits of pending logins', () => {
  test('an address may have a limited number, callbacks and expiry make room, and other addresses are unaffected', async () => {
    await using opened = await openCoreView()
    const { clock } = opened
    const [one, other] = servers(opened.view, clock, { mount: 1000, address: 10 })
    const begun = []
    for (let index = 0; index < 10; index++)
      begun.push(await (index % 2 === 0 ? one : other).begin(start, '10.0.0.1'))

    await expect(one.begin(start, '10.0.0.1')).rejects.toMatchObject({
      kind: 'throttled',
      message: throttled,
    })
    await expect(other.begin(start, '::ffff:10.0.0.1')).rejects.toThrow(throttled)
    await other.begin(start, '10.0.0.2')
    await one.take(begun[3]?.state ?? '')
    await one.begin(start, '10.0.0.1')
    await one.take(begun[4]?.state ?? '')
    clock.advance(1)
    await other.begin(start, '10.0.0.1')
    await expect(other.begin(start, '10.0.0.1')).rejects.toThrow(throttled)
    clock.advance(600)
    await other.begin(start, '10.0.0.1')
  })

  test('many concurrent logins stop exactly at the limit', async () => {
    await using opened = await openCoreView()
    const [one] = servers(opened.view, opened.clock, { mount: 1000, address: 10 })

    const settled = await Promise.allSettled(Array.from({ length: 50 }, () => one.begin(start, '10.0.0.1')))

    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    expect(await opened.view.listKeys('oidc/login/')).toHaveLength(10)
  })

  test('concurrent logins on two servers never exceed the limit of an address', async () => {
    await using opened = await openCoreView()
    const [one, other] = servers(opened.view, opened.clock, { mount: 1000, address: 10 })

    const settled = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => [one, other][index % 2]?.begin(start, '10.0.0.1')),
    )

    const begun = settled.filter(({ status }) => status === 'fulfilled').length
    expect(begun).toBeLessThanOrEqual(10)
    expect(await opened.view.listKeys('oidc/login/')).toHaveLength(begun)
    expect(await opened.view.listKeys('oidc/from/')).toHaveLength(begun)
  })

  test('an IPv6 client counts by its network', async () => {
    await using opened = await openCoreView()
    const [one] = servers(opened.view, opened.clock, { mount: 1000, address: 2 })
    await one.begin(start, '2001:db8:1:2::1')
    await one.begin(start, '2001:db8:1:2:ffff::9')

    await expect(one.begin(start, '2001:db8:1:2::2')).rejects.toThrow(throttled)
    await one.begin(start, '2001:db8:1:3::2')
  })

  test('a full mount drops the oldest login of the same address, or for a new address that of the one with the most', async () => {
    await using opened = await openCoreView()
    const { clock } = opened
    const [one] = servers(opened.view, clock, { mount: 6, address: 5 })
    const begin = async (address: string) => {
      clock.advance(1)
      return (await one.begin(start, address)).state
    }
    const [a1, b1, b2, b3, c1, c2] = [
      await begin('10.0.0.1'),
      await begin('10.0.0.2'),
      await begin('10.0.0.2'),
      await begin('10.0.0.2'),
      await begin('10.0.0.3'),
      await begin('10.0.0.3'),
    ]

    const own = await begin('10.0.0.3')
    const newcomer = await begin('10.0.0.4')

    const left = await Promise.all(
      [a1, b1, b2, b3, c1, c2, own, newcomer].map(async (state) => (await one.take(state)) !== undefined),
    )
    expect(left).toEqual([true, false, true, true, false, true, true, true])
  })

  test('a full mount keeps accepting new addresses', async () => {
    await using opened = await openCoreView()
    const [one] = servers(opened.view, opened.clock, { mount: 20, address: 10 })
    const begin = async (address: string) => {
      opened.clock.advance(0.001)
      return (await one.begin(start, address)).state
    }
    for (let index = 0; index < 10; index++) await begin('10.0.0.1')
    for (let index = 0; index < 10; index++) await begin(`10.0.1.${index}`)

    const newcomers = []
    for (let index = 0; index < 50; index++) newcomers.push(await begin(`10.0.2.${index}`))

    expect(await opened.view.listKeys('oidc/login/')).toHaveLength(20)
    // each could have finished its login before the one after the next arrived
    expect(await one.take(newcomers.at(-1) ?? '')).toBeDefined()
    expect(await one.take(newcomers.at(-2) ?? '')).toBeDefined()
  })

  test('a mount is counted again, so that changes by other servers are noticed', async () => {
    await using opened = await openCoreView()
    const { clock } = opened
    const [one, other] = servers(opened.view, clock, { mount: 4, address: 4 })
    await one.begin(start, '10.0.0.1')
    for (let index = 0; index < 4; index++) await other.begin(start, '10.0.0.2')
    clock.advance(10)

    await one.begin(start, '10.0.0.3')

    expect(await opened.view.listKeys('oidc/login/')).toHaveLength(4)
  })
})
