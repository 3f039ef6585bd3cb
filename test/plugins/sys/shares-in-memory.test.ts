import { expect, test } from 'vitest'
import { offer, textsOf } from '../../support/ceremonies.ts'
import { collectKeys } from '../../support/collected-keys.ts'
import { startTestServer } from '../../support/start-server.ts'

test('sealing leaves no key and no share of the ceremonies before in a buffer', async () => {
  await using server = await startTestServer({ dev: false, settings: { SEAL: 'shamir' } })
  const { anonymous } = server
  using collected = collectKeys()
  const plan = { secret_shares: 3, secret_threshold: 2 }
  const made = (await anonymous.call('PUT', 'sys/init', plan)).body
  const root = server.as(String(made['root_token']))
  const keys = textsOf(made['keys'])
  const unseal = async (shares: readonly string[]) => {
    for (const key of shares) await anonymous.call('PUT', 'sys/unseal', { key })
  }
  await unseal([keys[0] ?? '', 'ab'.repeat(33)])
  expect(collected.buffers().length).toBeGreaterThan(3)
  expect(collected.left()).toEqual([])
  await unseal(keys.slice(1))
  const opened = collected.left()
  const verified = { ...plan, require_verification: true }
  const { nonce } = (await root.call('PUT', 'sys/rekey/init', verified)).body
  const { body } = await offer(root, 'sys/rekey/update', nonce, keys.slice(1))
  const fresh = textsOf(body['keys'])
  await offer(root, 'sys/rekey/verify', body['verification_nonce'], fresh.slice(1))
  expect(collected.left()).toHaveLength(opened.length)
  await root.call('PUT', 'sys/rekey/init', verified)
  const attempt = (await root.call('PUT', 'sys/generate-root/attempt')).body
  await offer(root, 'sys/generate-root/update', attempt['nonce'], fresh.slice(2))
  expect(collected.left().length).toBeGreaterThan(opened.length)

  await root.call('PUT', 'sys/seal')

  expect(collected.left()).toEqual([])
})
