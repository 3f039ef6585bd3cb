import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'

test('the stand-in prints how to configure a server, answers requests, and leaves nothing behind', async () => {
  const child = spawn(process.execPath, ['simulators/directory/main.ts'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const said: Record<string, string> = {}
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('export ')) {
      for (const [, name = '', value = ''] of line.matchAll(/(\w+)=(\S+)/g)) said[name] = value
    }
    const control = /(http:\/\/127\.0\.0\.1:\d+)\/inventory/.exec(line)?.[1]
    if (control !== undefined) said.control = control
    if (line.includes('/faults')) break
  }

  const ca = await readFile(said.CLOUD_CA_FILE ?? '', 'utf8')
  const inventory: unknown = await (await fetch(`${said.control}/inventory`)).json()
  child.kill('SIGINT')
  const [code] = await closed

  expect(said).toMatchObject({
    CLOUD_AUTHORITY_HOST: expect.stringMatching(/^https:/),
    CLOUD_DIRECTORY_ENDPOINT: expect.stringMatching(/^https:/),
    CLOUD_RESOURCE_MANAGER_ENDPOINT: expect.stringMatching(/^https:/),
    TENANT_ID: expect.any(String),
    SUBSCRIPTION_ID: expect.any(String),
    CLIENT_ID: expect.any(String),
    CLIENT_SECRET: expect.any(String),
  })
  expect([ca.startsWith('-----BEGIN CERTIFICATE-----'), inventory, code]).toEqual([true, [], 0])
  await expect(readFile(said.CLOUD_CA_FILE ?? '')).rejects.toThrow(/ENOENT/)
})
