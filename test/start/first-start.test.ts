import { readFile, stat, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { refusedStart, startInFolder } from '../support/folder-server.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const modeOf = async (path: string) => (await stat(path)).mode & 0o777
const tokenLine = /^Root token: hvs\.[0-9A-Za-z]{24}\n$/

test('the first start in an empty folder creates database and seal key for its owner only, and prints a root token that works', async () => {
  await using folder = await temporaryFolder()
  await using server = await startProcess({ folder: folder.path })

  const self = await server.as(server.rootToken).read('auth/token/lookup-self')

  expect(self.status).toBe(200)
  expect(self.body['data']?.['policies']).toEqual(['root'])
  expect(server.stdout).toMatch(tokenLine)
  for (const file of [
    'data/gatehouse.db',
    'data/gatehouse.db-wal',
    'data/gatehouse.db.lock',
    'data/seal.key',
  ]) {
    expect(await modeOf(folder.file(file)), file).toBe(0o600)
  }
  expect(await modeOf(folder.file('data'))).toBe(0o700)
  expect(await readFile(folder.file('data/seal.key'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
  expect(server.stderr).toContain('keep it on another disk')
})

test('the first start mounts auth/jwt and cloud', async () => {
  await using folder = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(server.rootToken)

  const auth = await root.read('sys/auth')
  const secrets = await root.read('sys/mounts')

  expect(auth.body['data']?.['jwt/']?.['type']).toBe('jwt')
  expect(secrets.body['data']?.['cloud/']?.['type']).toBe('cloud')
})

test('a second start tells no token, and the first one still works', async () => {
  await using folder = await temporaryFolder()
  await using first = await startInFolder({ folder: folder.path })
  const token = first.rootToken
  await first.stop()

  await using second = await startInFolder({ folder: folder.path })
  const self = await second.as(token).read('auth/token/lookup-self')

  expect(self.status).toBe(200)
  expect(second.rootTokens).toEqual([])
})

test('GATEHOUSE_ROOT_TOKEN_FILE holds the first root token for its owner only, and standard output says where', async () => {
  await using folder = await temporaryFolder()
  const file = folder.file('root-token')
  await writeFile(file, '', { mode: 0o644 })
  await using server = await startProcess({ folder: folder.path, settings: { ROOT_TOKEN_FILE: file } })
  const token = (await readFile(file, 'utf8')).trim()

  const self = await server.as(token).read('auth/token/lookup-self')

  expect(self.status).toBe(200)
  expect(await modeOf(file)).toBe(0o600)
  expect(server.stdout).toBe(`Root token written to ${file}\n`)
})

test('--dev writes its root token into GATEHOUSE_ROOT_TOKEN_FILE too', async () => {
  await using folder = await temporaryFolder()
  const file = folder.file('root-token')
  await using server = await startInFolder({
    folder: folder.path,
    dev: true,
    settings: { STORAGE: 'memory:', ROOT_TOKEN: 'mine', ROOT_TOKEN_FILE: file },
  })

  expect(await readFile(file, 'utf8')).toBe('mine\n')
  expect(await modeOf(file)).toBe(0o600)
  expect(server.rootToken).toBe('mine')
})

test('a root token file that cannot be written ends the first start before there is a store', async () => {
  await using folder = await temporaryFolder()
  const settings = { ROOT_TOKEN_FILE: folder.file('no/such/folder/token') }

  const refused = await refusedStart({ folder: folder.path, settings })
  await using server = await startInFolder({ folder: folder.path })

  expect(refused).toMatchObject({
    code: 2,
    message: `GATEHOUSE_ROOT_TOKEN_FILE: cannot write ${settings.ROOT_TOKEN_FILE}: ENOENT`,
  })
  expect(server.rootToken).toMatch(/^hvs\./)
})

test('a server in memory needs no seal key and leaves no file', async () => {
  await using folder = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path, settings: { STORAGE: 'memory:' } })

  const self = await server.as(server.rootToken).read('auth/token/lookup-self')

  expect(self.status).toBe(200)
  await expect(stat(folder.file('data'))).rejects.toThrow('ENOENT')
})

test('--dev keeps everything in memory, with the root token root and a readable log', async () => {
  await using folder = await temporaryFolder()
  await using server = await startProcess({ folder: folder.path, args: ['--dev'] })

  const self = await server.as('root').read('auth/token/lookup-self')

  expect(self.status).toBe(200)
  expect(server.stdout).toBe('Root token: root\n')
  expect(server.stderr).toContain('development mode')
  expect(server.stderr).not.toContain('{"level"')
  await expect(stat(folder.file('data'))).rejects.toThrow('ENOENT')
})

test.each<{ name: string; settings: Record<string, string>; token: string }>([
  { name: 'root', settings: {}, token: 'root' },
  { name: 'the one that is given', settings: { ROOT_TOKEN: 'mine' }, token: 'mine' },
])(
  '--dev on a file is durable and has the same root token at each start: $name',
  async ({ settings, token }) => {
    await using folder = await temporaryFolder()
    const options = {
      folder: folder.path,
      settings: { ...settings, STORAGE: `sqlite:${folder.file('dev.db')}` },
    }
    await using first = await startInFolder({ ...options, dev: true })
    await first.as(token).write('sys/policies/acl/kept', { policy: 'path "a" { capabilities = ["read"] }' })
    await first.stop()

    await using second = await startInFolder({ ...options, dev: true })
    const kept = await second.as(token).read('sys/policies/acl/kept')

    expect(kept.status).toBe(200)
    expect(new Set(second.rootTokens)).toEqual(new Set([token]))
  },
)
