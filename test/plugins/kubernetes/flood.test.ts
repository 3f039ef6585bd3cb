import { expect, test } from 'vitest'
import { serversInTurn } from '../../support/of-one-server.ts'
import { startPods, told } from './pods.ts'

test('hundreds of bad tokens of one address cost the cluster nothing, or sixteen reviews at a time', async () => {
  await using own = await startPods({ settings: { TRUSTED_PROXIES: '127.0.0.1' } })
  const at = await own.mount()
  const from = (address: string, jwt: string) =>
    own.server.anonymous.write(
      `${at.path}/login`,
      { role: 'r', jwt },
      { headers: { 'X-Forwarded-For': address } },
    )
  const unsigned = async (claims: object) => {
    const [header, payload] = (await own.cluster.token('dev', 'web', { claims: { ...claims } })).split('.')
    return `${header}.${payload}.AAAA`
  }
  const [foreign, forged] = [await unsigned({ aud: ['x'] }), await unsigned({})]
  own.cluster.requests.length = 0

  const strangers = await Promise.all(Array.from({ length: 200 }, () => from('10.0.0.1', foreign)))
  const costless = own.cluster.requests.length
  const [others, ...forgeries] = await Promise.all([
    own.cluster.token().then((jwt) => from('10.0.0.2', jwt)),
    ...Array.from({ length: 100 }, () => from('10.0.0.1', forged)),
  ])

  expect(new Set(strangers.map(({ status }) => status))).toEqual(new Set([403]))
  expect(costless).toBe(0)
  expect(told(others)).toBe('200 ok')
  expect(new Set(forgeries.map(told))).toEqual(new Set(['403 permission denied']))
  expect(own.cluster.most).toBeLessThanOrEqual(16 * serversInTurn + 1)
})
