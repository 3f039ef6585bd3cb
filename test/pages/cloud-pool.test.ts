import { expect, test } from 'vitest'
import { works } from '../plugins/cloud/credential-steps.ts'
import { startPoolFixture } from '../plugins/cloud/pool/pool-steps.ts'
import { openGuide, openShell } from './page.ts'

test('the commands of "Credentials that are ready" in docs/cloud.md do what it says', async () => {
  await using house = await startPoolFixture()
  await using shell = await openShell({ VAULT_ADDR: house.server.url, VAULT_TOKEN: 'root' })
  const guide = openGuide('docs/cloud.md', {
    '6f1d3c52-6c0e-4d0f-9a3b-0c1f5f0c9d11': house.directory.subscriptionId,
  })

  const { output } = await shell.run(guide.blocks('Credentials that are ready').join('\n'))

  const { client_id: clientId, client_secret: secret } = JSON.parse(String(output.trim().split('\n').at(-1)))
  expect(await works(house, { clientId, secret })).toBe(true)
})
