import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProvider } from '../plugins/jwt-auth/provider.ts'
import { factsOf, unpackStore } from '../upgrade/old-store.ts'
import { type Installation, installation, sectionsWithBlocks } from './installation.ts'
import type { Followed } from './stand-ins.ts'

const followed = new Set<string>()

/** Follows a recipe of docs/operations.md. All its requests must succeed. */
async function follow(gatehouse: Installation, section: string, block?: number): Promise<Followed> {
  followed.add(section)
  const outcome = await gatehouse.follow(section, block)
  expect(outcome.requests.filter((line) => !line.startsWith('20'))).toEqual([])
  return outcome
}

const textOf = async (gatehouse: Installation, file: string) =>
  (await readFile(gatehouse.file(file), 'utf8')).trim()

const modeOf = async (gatehouse: Installation, file: string) =>
  (await stat(gatehouse.file(file))).mode & 0o777

/** What people do who have shares: one after the other sends theirs. Returns what the last one sees. */
async function sendShares(
  gatehouse: Installation,
  section: string,
  block: number,
  shares: readonly string[],
): Promise<string> {
  let output = ''
  for (const share of shares) {
    gatehouse.variables['SHARE'] = share
    ;({ output } = await follow(gatehouse, section, block))
  }
  return output
}

/** `unseal` is what the page asks for after the restart, if the seal is a Shamir seal. */
async function generateRoot(
  gatehouse: Installation,
  shares: readonly string[],
  unseal: () => Promise<unknown> = async () => {},
): Promise<string> {
  const section = 'Make a root token with shares'
  await follow(gatehouse, section, 0)
  await unseal()
  const begun = await follow(gatehouse, section, 1)
  gatehouse.variables['NONCE'] = begun.output.trim()
  const output = await sendShares(gatehouse, section, 2, shares)
  gatehouse.variables['ENCODED_TOKEN'] = JSON.parse(output).encoded_token
  await follow(gatehouse, section, 3)
  await unseal()
  return textOf(gatehouse, 'data/new-root-token')
}

/** Makes a recipe assume that the operator has the root token. */
async function takeRootToken(gatehouse: Installation): Promise<void> {
  gatehouse.variables['VAULT_TOKEN'] = await textOf(gatehouse, 'data/root-token')
}

describe('on a server with a key file', () => {
  let gatehouse: Installation
  beforeAll(async () => {
    gatehouse = await installation()
    await follow(gatehouse, 'First start with a key file')
    await takeRootToken(gatehouse)
  })
  afterAll(() => gatehouse[Symbol.asyncDispose]())

  test('the first start leaves a seal key and a root token that only the operator can read', async () => {
    expect(await modeOf(gatehouse, 'data/seal.key')).toBe(0o600)
    expect(await modeOf(gatehouse, 'data/root-token')).toBe(0o600)
  })

  test('logins are limited', async () => {
    const { requests } = await follow(gatehouse, 'Rate limits')

    expect(requests).toEqual(['204 POST /v1/sys/quotas/rate-limit/logins'])
  })

  test('pages of other origins are allowed', async () => {
    const { requests } = await follow(gatehouse, 'Pages of other origins')

    expect(requests).toEqual(['204 POST /v1/sys/config/cors'])
  })

  test('a change of a policy is looked up and taken back, and is in the log', async () => {
    const { output } = await follow(gatehouse, 'Undo a change', 0)
    const log = await follow(gatehouse, 'Undo a change', 1)

    expect(JSON.parse(output)).toMatchObject([
      { version: 2, operation: 'update', changes: { policy: {} } },
      { version: 1 },
    ])
    expect(log.output).toContain('"restored":1')
  })

  test('a rotation begins a new term', async () => {
    const { output } = await follow(gatehouse, 'Rotate the data keys')

    expect(output).toContain('"term":2')
  })

  test('the root key and the data key are replaced', async () => {
    const { output } = await follow(gatehouse, 'Replace the root key')

    expect(output).not.toContain('errors')
    await expect.poll(() => gatehouse.log).toContain('the root key was replaced')
    await expect.poll(() => gatehouse.log).toMatch(/"event":"key_rotated","term":3/)
  })

  test('the server is sealed, and unsealed with its key file', async () => {
    const sealed = await follow(gatehouse, 'Seal in an emergency')
    const unsealed = await follow(gatehouse, 'Unseal with the key file')

    expect(sealed.output).toContain('"sealed":true')
    expect(unsealed.output).toContain('"sealed":false')
  })

  test('the seal key changes, and a start with the new one alone opens the store', async () => {
    const before = await textOf(gatehouse, 'data/seal.key')
    await follow(gatehouse, 'Change the seal key')
    const { output } = await gatehouse.shell(
      'systemctl restart gatehouse; curl $VAULT_ADDR/v1/sys/seal-status',
    )

    await expect.poll(() => gatehouse.log).toContain('"event":"key_rotated"')
    expect(await textOf(gatehouse, 'data/seal.key')).not.toBe(before)
    expect(output).toContain('"sealed":false')
  })

  test('three of five people with recovery keys make a root token', async () => {
    await follow(gatehouse, 'Give recovery keys to people')
    expect(await modeOf(gatehouse, 'recovery-keys.json')).toBe(0o600)
    const { keys_base64: shares } = JSON.parse(await textOf(gatehouse, 'recovery-keys.json'))

    const token = await generateRoot(gatehouse, shares.slice(1, 4))

    const self = await gatehouse.as(token).read('auth/token/lookup-self')
    expect(self.body.data?.policies).toEqual(['root'])
    await rm(gatehouse.file('data/new-root-token'))
  })

  test('a backup is made while the server runs, and restored', async () => {
    const { output } = await follow(gatehouse, 'Make a backup')
    await gatehouse.shell('curl -H "X-Vault-Token: $VAULT_TOKEN" $VAULT_ADDR/v1/sys/auth/later -d type=jwt')
    await follow(gatehouse, 'Restore a backup')

    const mounts = await gatehouse.as(gatehouse.variables['VAULT_TOKEN'] ?? '').read('sys/auth')
    expect(output).toContain('intact; every seal opened')
    expect(Object.keys(mounts.body.data ?? {})).not.toContain('later/')
    await expect.poll(() => gatehouse.log).toContain('"event":"restored"')
  })

  test('a backup is made over HTTP', async () => {
    const { output, requests } = await follow(gatehouse, 'Make a backup from elsewhere')

    expect(requests.at(-1)).toBe('200 GET /v1/sys/storage/snapshot')
    expect(output).toContain('intact; every seal opened')
    expect(await modeOf(gatehouse, 'backup.db')).toBe(0o600)
  })

  test('requests are recorded, the file is rotated, and both files are intact', async () => {
    await follow(gatehouse, 'Record every request in a file')
    await follow(gatehouse, 'Rotate audit files')
    const { output } = await follow(gatehouse, 'Verify audit files')

    expect(output.match(/^intact$/gm)).toHaveLength(2)
    expect(await modeOf(gatehouse, 'data/audit/audit.log.1')).toBe(0o600)
  })

  test('devices of the settings record requests, and the API cannot disable them', async () => {
    const { output } = await follow(gatehouse, 'Record every request, whatever the API says')
    const refused = await gatehouse.as(gatehouse.variables['VAULT_TOKEN'] ?? '').delete('sys/audit/fixed')

    expect(output).toContain('"fixed/"')
    expect(refused.status).toBe(400)
    expect(await modeOf(gatehouse, 'data/audit/fixed.log')).toBe(0o600)
    await gatehouse.shell("sed -i '/^GATEHOUSE_AUDIT/d' .env")
  })

  test('a collector on another machine gets each entry, and is disabled once it is gone', async () => {
    const entries: string[] = []
    await using collector = await startProvider({
      '/entries': (answer, request) =>
        void text(request).then((entry) => answer.end(void entries.push(entry))),
    })
    gatehouse.variables['COLLECTOR'] = `${collector.url}/entries`
    gatehouse.variables['COLLECTOR_HOST'] = new URL(collector.url).host
    await follow(gatehouse, 'Record every request on another machine')
    // a request waits for one device only, and there is a file too
    await expect.poll(() => entries.map((entry) => JSON.parse(entry).type)).toContain('response')

    await collector.stop()
    await gatehouse.as(gatehouse.variables['VAULT_TOKEN'] ?? '').read('auth/token/lookup-self')
    await expect.poll(() => gatehouse.log).toContain('"event":"audit_failed"')
    const { requests } = await follow(gatehouse, 'When a device cannot write')

    expect(requests).toEqual(['204 DELETE /v1/sys/audit/collector'])
  })

  test('a lost root token is replaced', async () => {
    const { output } = await follow(gatehouse, 'Replace a lost root token')

    expect(output).toContain('"policies":["root"]')
    expect(await modeOf(gatehouse, 'data/new-root-token')).toBe(0o600)
  })
})

test('a store of version 0.2.0 is upgraded', async () => {
  await using gatehouse = await installation()
  const { root, sealKey } = await factsOf('0.2.0')
  await mkdir(gatehouse.file('data'), { mode: 0o700 })
  await unpackStore('0.2.0', gatehouse.file('data/gatehouse.db'))
  await writeFile(gatehouse.file('data/seal.key'), sealKey, { mode: 0o600 })

  const { output } = await follow(gatehouse, 'Upgrade')
  const self = await gatehouse.as(root).read('auth/token/lookup-self')

  expect(output).toContain('intact; every seal opened')
  expect(self.body.data?.['policies']).toEqual(['root'])
})

test('the seal of a server with a key file becomes one with shares', async () => {
  await using gatehouse = await installation()
  await follow(gatehouse, 'First start with a key file')

  await follow(gatehouse, 'Change the type of seal')
  const { keys_base64 } = JSON.parse(await textOf(gatehouse, 'data/shares.json'))
  const shares: string[] = keys_base64.slice(2)

  expect(await sendShares(gatehouse, 'Unseal with shares', 0, shares)).toContain('"sealed":false')
})

describe('on a server whose key is in shares', () => {
  let gatehouse: Installation
  let shares: string[] = []
  beforeAll(async () => {
    gatehouse = await installation()
    await follow(gatehouse, 'First start with shares')
    shares = sharesIn(await textOf(gatehouse, 'init.json'))
    await takeRootToken(gatehouse)
  })
  afterAll(() => gatehouse[Symbol.asyncDispose]())

  const sharesIn = (json: string): string[] => JSON.parse(json).keys_base64
  const unseal = (some: readonly string[]) => sendShares(gatehouse, 'Unseal with shares', 0, some)

  test('three of five people unseal it', async () => {
    expect(await modeOf(gatehouse, 'init.json')).toBe(0o600)
    expect(await unseal(shares.slice(0, 2))).toContain('"progress":2')

    expect(await unseal(shares.slice(4))).toContain('"sealed":false')
  })

  test('new shares replace the old ones', async () => {
    const begun = await follow(gatehouse, 'Replace the shares', 0)
    gatehouse.variables['NONCE'] = begun.output.trim()
    const old = shares

    shares = sharesIn(await sendShares(gatehouse, 'Replace the shares', 1, old.slice(1, 4)))

    await follow(gatehouse, 'Seal in an emergency')
    expect(shares).toHaveLength(3)
    await expect(unseal(old.slice(0, 2))).rejects.toThrow('400 PUT /v1/sys/unseal')
    expect(await unseal(shares.slice(1))).toContain('"sealed":false')
  })

  test('they make a root token', async () => {
    const two = shares.slice(0, 2)

    const token = await generateRoot(gatehouse, two, () => unseal(two))

    const self = await gatehouse.as(token).read('auth/token/lookup-self')
    expect(self.body.data?.policies).toEqual(['root'])
  })
})

describe('on a server whose key is in the environment', () => {
  test('the first start initializes and unseals it', async () => {
    await using gatehouse = await installation()

    const { output } = await follow(gatehouse, 'First start with a key in the environment')

    expect(output).toContain('"sealed":false')
    expect(await modeOf(gatehouse, 'data/root-token')).toBe(0o600)
    expect(await modeOf(gatehouse, '.env')).toBe(0o600)
    await expect(textOf(gatehouse, 'data/seal.key')).rejects.toThrow('ENOENT')
  })
})

test('each recipe of docs/operations.md is followed by a test', () => {
  expect([...followed].sort()).toEqual(sectionsWithBlocks().sort())
})
