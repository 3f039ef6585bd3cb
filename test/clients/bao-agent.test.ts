import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startPods } from '../plugins/kubernetes/pods.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { bao, baoIsSkipped, install } from './bao.ts'

const configuration = ({ mount, folder }: { mount: string; folder: string }) => `
auto_auth {
  method "kubernetes" {
    mount_path = "${mount}"
    config = { role = "r", token_path = "${folder}/jwt" }
  }
  sink "file" { config = { path = "${folder}/token" } }
}
`

test('`bao agent` of a pod renews its token, and logs in again once its service account was made anew', async ({
  skip,
}) => {
  skip(baoIsSkipped, install)
  await using pods = await startPods()
  await using folder = await temporaryFolder()
  const at = await pods.mount()
  await at.role('r', { token_ttl: '3s' })
  const file = (name: string) => join(folder.path, name)
  await writeFile(file('jwt'), `${await pods.cluster.token()}\n`)
  await writeFile(file('agent.hcl'), configuration({ mount: at.path, folder: folder.path }))
  const ownToken = () => readFile(file('token'), 'utf8').catch(() => '')
  pods.cluster.requests.length = 0
  const end = new AbortController()

  const agent = bao(['agent', `-config=${file('agent.hcl')}`], {
    server: pods.server.url,
    home: folder.path,
    signal: end.signal,
  })
  // a login and three renewals
  await Promise.race([pods.cluster.asked(4), agent.then(({ stderr }) => expect(stderr).toBe(''))])
  const first = await ownToken()
  pods.cluster.objects.createAccount('dev', 'web')
  await writeFile(file('jwt'), await pods.cluster.token())
  await expect.poll(ownToken).not.toBe(first)
  const { status } = await pods.server.as(await ownToken()).read('auth/token/lookup-self')
  end.abort()
  await agent

  expect(first).not.toBe('')
  expect(status).toBe(200)
})
