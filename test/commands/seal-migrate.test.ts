import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { commandHere } from '../support/command-here.ts'
import { startInFolder } from '../support/folder-server.ts'
import { keyKeeper } from '../support/key-keeper.ts'
import { newDatabase } from '../support/postgres.ts'
import { type ProcessOptions, runCommand } from '../support/process.ts'
import { stoppedServer } from '../support/stopped-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { opens, type SealType, sealsOf, sharesIn } from './sealed-folder.ts'

const aStoppedServer = stoppedServer()
const toShamir = ['--to', 'shamir', '--shares', '3', '--threshold', '2', '--out', 'shares.json']

test('a store moves between all types of seal, and its data stays', async () => {
  await using folder = await temporaryFolder()
  const root = await aStoppedServer(folder.path)
  const seals = await sealsOf(folder.path)
  const migrate = (from: SealType, args: string[], input?: string) => {
    const options: ProcessOptions = { folder: folder.path, args, settings: { ...seals, SEAL: from } }
    return input === undefined
      ? commandHere('seal-migrate', options)
      : runCommand('seal-migrate', { ...options, input })
  }

  expect(await migrate('static', ['--to', 'command'])).toEqual({
    code: 0,
    stdout:
      'the seal is command now (the wrapped key is in the store): start servers with GATEHOUSE_SEAL=command; backups from before need the former seal\n',
    stderr: '',
  })
  expect(await opens(folder.path, { type: 'command', root })).toEqual({
    type: 'command',
    sealed: false,
    token: 200,
  })

  expect(await migrate('command', toShamir)).toMatchObject({ code: 0, stderr: '' })
  expect((await stat(folder.file('shares.json'))).mode & 0o777).toBe(0o600)
  const shares = await sharesIn(folder.file('shares.json'))
  expect(await opens(folder.path, { type: 'shamir', root, shares })).toMatchObject({
    sealed: false,
    token: 200,
  })

  const one = await migrate('shamir', ['--to', 'static'], `${shares.split('\n')[0]}\n`)
  const wrong = await migrate('shamir', ['--to', 'static'], `${'ab'.repeat(33)}\n${'cd'.repeat(33)}\n`)
  expect([one.code, one.stderr]).toEqual([1, expect.stringContaining('1 of 2 shares were given')])
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('seal key does not open this store'),
  ])

  expect(await migrate('shamir', ['--to', 'static'], `${shares}\n`)).toMatchObject({ code: 0 })
  expect(await opens(folder.path, { type: 'static', root })).toMatchObject({ sealed: false, token: 200 })
})

test('a migration that is killed while it waits for a command leaves the store as it was', async () => {
  await using folder = await temporaryFolder()
  const root = await aStoppedServer(folder.path)
  const seals = await sealsOf(folder.path)

  for (const name of ['SEAL_WRAP_COMMAND', 'SEAL_UNWRAP_COMMAND']) {
    const settings = { ...seals, [name]: 'kill -9 $PPID' }
    const killed = await runCommand('seal-migrate', {
      folder: folder.path,
      args: ['--to', 'command'],
      settings,
    })

    expect(killed.code, name).toBeNull()
    expect(await opens(folder.path, { type: 'static', root }), name).toMatchObject({
      sealed: false,
      token: 200,
    })
  }
})

const refusals: { args: string[]; code: number; stderr: string; settings?: Record<string, string> }[] = [
  { args: [], code: 2, stderr: 'usage: gatehouse seal-migrate --to' },
  { args: ['--to', 'static'], code: 1, stderr: 'the seal of this store is static already' },
  { args: ['--to', 'shamir', '--shares', '3'], code: 2, stderr: 'usage: gatehouse seal-migrate --to' },
  { args: ['--to', 'command', '--shares', '3'], code: 2, stderr: 'usage: gatehouse seal-migrate --to' },
  {
    args: ['--to', 'shamir', '--shares', '3', '--threshold', '4', '--out', 'shares'],
    code: 2,
    stderr: 'threshold cannot be larger than shares',
  },
  {
    args: ['--to', 'shamir', '--shares', '1', '--threshold', '1', '--out', 'data/seal.key'],
    code: 2,
    stderr: 'data/seal.key is a database file or a seal key file',
  },
  {
    args: ['--to', 'command'],
    code: 2,
    stderr: 'GATEHOUSE_SEAL_UNWRAP_COMMAND: must be set to migrate to a command',
  },
  {
    args: ['--to', 'command'],
    settings: { SEAL_UNWRAP_COMMAND: 'cat' },
    code: 2,
    stderr: 'GATEHOUSE_SEAL_WRAP_COMMAND: must be set to make a seal key',
  },
]

test('a migration that is refused says why, and leaves the store as it was', async () => {
  await using folder = await temporaryFolder()
  const root = await aStoppedServer(folder.path)

  for (const { args, code, stderr, settings = {} } of refusals) {
    const refused = await commandHere('seal-migrate', { folder: folder.path, args, settings })
    expect([refused.code, refused.stderr], args.join(' ')).toEqual([code, expect.stringContaining(stderr)])
  }

  expect(await opens(folder.path, { type: 'static', root })).toMatchObject({ sealed: false, token: 200 })
})

test('servers of a PostgreSQL database go on while its seal changes, and start with the new one', async () => {
  await using folder = await temporaryFolder()
  const settings = {
    STORAGE: await newDatabase(),
    SEAL_KEY: '5e'.repeat(32),
    ...(await sealsOf(folder.path)),
  }
  const start = (name: string, seal: string) =>
    startInFolder({ folder: folder.path, settings: { ...settings, REPLICA_NAME: name, SEAL: seal } })
  await using one = await start('one', 'static')
  const root = one.as(one.rootToken)

  const migrated = await commandHere('seal-migrate', {
    folder: folder.path,
    args: ['--to', 'command'],
    settings,
  })
  const rotated = await root.write('sys/rotate', {})
  const written = await root.write('sys/policies/acl/later', {
    policy: 'path "a" { capabilities = ["read"] }',
  })
  await using other = await start('other', 'command')
  const read = await other.as(one.rootToken).read('sys/policies/acl/later')

  expect([migrated.code, migrated.stderr]).toEqual([0, ''])
  expect([rotated.status, written.status, read.status]).toEqual([204, 204, 200])
})

test('of two servers that start on an empty PostgreSQL database, one has the key wrapped, and both open the store', async () => {
  await using folder = await temporaryFolder()
  const settings = { STORAGE: await newDatabase(), ...(await keyKeeper(folder.path)) }
  const start = (name: string) =>
    startInFolder({ folder: folder.path, settings: { ...settings, REPLICA_NAME: name } })

  const [first, second] = await Promise.all([start('one'), start('other')])
  await using one = first
  await using other = second
  const tokens = [...one.rootTokens, ...other.rootTokens]
  const [token = ''] = tokens

  expect(new Set(tokens).size).toBe(1)
  for (const server of [one, other])
    expect((await server.as(token).read('auth/token/lookup-self')).status).toBe(200)
})
