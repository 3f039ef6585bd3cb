import { chown, readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { expect } from 'vitest'
import { running } from '../deploy/running.ts'
import { outcomeOf } from '../deploy/tools.ts'
import { Authority } from '../support/certificates.ts'
import { Client } from '../support/client.ts'

/** A program of a release, and where it may write. */
export type Released = {
  /** What is run, before the arguments. */
  readonly command: readonly [string, ...string[]]
  /** What a server of it is started with. */
  readonly args?: readonly string[]
  readonly folder: string
  /** The folder as the program sees it. */
  readonly inside?: string
  readonly env?: Readonly<Record<string, string>>
  /** What makes the backup, before the arguments, if not the same. */
  readonly backup?: readonly [string, ...string[]]
  /** The user it runs as, if not the one of this test. */
  readonly user?: number
}

/** It starts with TLS, has the web UI, lets a person log in and read a secret, makes a backup that is intact, and stops. */
export async function expectToServe({
  command,
  args = [],
  folder,
  inside = folder,
  env,
  user,
  backup: copier = command,
}: Released) {
  using authority = new Authority()
  const [program, ...first] = command
  const at = (name: string) => join(inside, name)
  for (const [name, text] of Object.entries(authority.sign('release'))) {
    await writeFile(join(folder, name), text, { mode: 0o600 })
    if (user !== undefined) await chown(join(folder, name), user, user)
  }
  const options = {
    cwd: folder,
    env: {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      ...env,
      GATEHOUSE_LISTEN: '127.0.0.1:0',
      GATEHOUSE_TLS: 'auto',
      GATEHOUSE_TLS_CERT_FILE: at('cert'),
      GATEHOUSE_TLS_KEY_FILE: at('key'),
      GATEHOUSE_STORAGE: `sqlite:${at('gatehouse.db')}`,
      GATEHOUSE_SEAL_KEY_FILE: at('seal.key'),
      GATEHOUSE_ROOT_TOKEN_FILE: at('root-token'),
    },
  }
  const outcome = ([file, ...before]: typeof command, ...more: string[]) =>
    outcomeOf(file, [...before, ...more], options)

  await using server = running(program, [...first, ...args], options)
  await server.prints('"event":"started"')
  const [url = ''] = /https:\/\/127\.0\.0\.1:\d+/.exec(server.output) ?? []
  const anyone = new Client(url, undefined, new Agent({ ca: authority.cert }))
  const root = anyone.with((await readFile(join(folder, 'root-token'), 'utf8')).trim())
  const page = await anyone.read('/ui/')
  const script = await anyone.read(`/ui/${/src="(?:\/ui\/|\.\/)?([^"]+\.js)"/.exec(page.text)?.[1]}`)
  await root.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
  await root.write('sys/policies/acl/reader', {
    policy: 'path "secret/data/app" { capabilities = ["read"] }',
  })
  await root.write('sys/auth/userpass', { type: 'userpass' })
  await root.write('auth/userpass/users/ann', { password: 'a long password', token_policies: 'reader' })
  await root.write('secret/data/app', { data: { word: 'open' } })
  const login = await anyone.write('auth/userpass/login/ann', { password: 'a long password' })
  const secret = await anyone.with(String(login.body['auth']?.['client_token'])).read('secret/data/app')
  const backup = await outcome(copier, 'backup', at('copy.db'))
  const verified = await outcome(command, 'verify', at('copy.db'))
  server.kill('SIGTERM')

  expect([page.status, script.status, login.status]).toEqual([200, 200, 200])
  expect(secret.body['data']?.['data']).toEqual({ word: 'open' })
  expect([backup, verified]).toMatchObject([{ code: 0 }, { code: 0 }])
  expect(await server.ended).toBe(0)
}
