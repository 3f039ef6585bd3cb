import { readFile, stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { Migration } from '../../src/commands/seal-migrate.ts'
import { commandHere } from '../support/command-here.ts'
import { startInFolder } from '../support/folder-server.ts'
import { keyKeeper } from '../support/key-keeper.ts'
import { newDatabase } from '../support/postgres.ts'
import { type ProcessOptions, runCommand, runProcess } from '../support/process.ts'
import { stoppedServer } from '../support/stopped-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Type = Migration['to']
const aStoppedServer = stoppedServer()
const toShamir = ['--to', 'shamir', '--shares', '3', '--threshold', '2', '--out', 'shares.json']

/** The settings of all seals. */
async function sealsOf(folder: string) {
  const { SEAL: _, ...commands } = await keyKeeper(folder)
  return commands
}

async function sharesIn(file: string): Promise<string> {
  const { keys } = JSON.parse(await readFile(file, 'utf8'))
  return keys.slice(1).join('\n')
}

/** Whether a server with this seal opens the store, and the old root token is good. */
async function opens(folder: string, { type, root, shares }: { type: Type; root: string; shares?: string }) {
  const settings = { ...(await sealsOf(folder)), SEAL: type }
  await using server = await startInFolder({ folder, settings })
  for (const key of shares?.split('\n') ?? []) await server.anonymous.write('sys/unseal', { key })
  const status = await server.anonymous.read('sys/seal-status')
  const self = await server.as(root).read('auth/token/lookup-self')
  return { type: status.body['type'], sealed: status.body['sealed'], token: self.status }
}

test('a store moves between all types of seal, and its data stays', async () => {
  await using folder = await temporaryFolder()
  const root = await aStoppedServer(folder.path)
  const seals = await sealsOf(folder.path)
  const migrate = (from: Type, args: string[], input?: string) => {
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

type Step = { from: Type; migration: Migration }
const held = (out: string) => ({ shares: 3, threshold: 2, out })
/** Each type becomes each other one. */
const steps: Step[] = [
  { from: 'static', migration: { to: 'command' } },
  { from: 'command', migration: { to: 'shamir', held: held('first.json') } },
  { from: 'shamir', migration: { to: 'command' } },
  { from: 'command', migration: { to: 'static' } },
  { from: 'static', migration: { to: 'shamir', held: held('second.json') } },
  { from: 'shamir', migration: { to: 'static' } },
]

test('a migration that is killed at any step leaves a store that one of its two seals opens', async () => {
  await using folder = await temporaryFolder()
  const root = await aStoppedServer(folder.path)
  const seals = await sealsOf(folder.path)
  let shares = ''

  for (const { from, migration } of steps) {
    const { to } = migration
    const settings = { ...seals, SEAL: from }
    const killedAt = async (point: string) => {
      const args = [folder.file('data/gatehouse.db'), JSON.stringify(migration), point]
      const outcome = await runProcess('test/commands/migrating-program.ts', {
        folder: folder.path,
        args,
        settings,
        input: shares,
      })
      expect([outcome.code, outcome.stdout]).toEqual([null, ''])
    }
    await killedAt('storage.before-commit')
    expect(
      await opens(folder.path, { type: from, root, shares: from === 'shamir' ? shares : '' }),
    ).toMatchObject({ type: from, sealed: false, token: 200 })
    await killedAt('storage.after-commit')
    if (migration.held !== undefined) shares = await sharesIn(folder.file(migration.held.out))
    expect(await opens(folder.path, { type: to, root, shares: to === 'shamir' ? shares : '' })).toMatchObject(
      { type: to, sealed: false, token: 200 },
    )
  }
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
