import { chown, readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { expect } from 'vitest'
import { running } from '../deploy/running.ts'
import { outcomeOf } from '../deploy/tools.ts'
import { Authority } from '../support/certificates.ts'
import { Client } from '../support/client.ts'

type Environment = Readonly<Record<string, string>>

/** A server of a release. */
type Served = AsyncDisposable & {
  readonly output: string
  prints(text: string): Promise<void>
  /** Runs a command with the settings of the server. */
  command(name: string, ...args: string[]): Promise<{ code: number | null }>
  /** Ends it in order. Resolves with its exit code. */
  stop(): Promise<number | null>
}

/** A way to start a server of a release, and where it may write. */
export type Released = {
  readonly folder: string
  /** The folder as the program sees it. */
  readonly inside?: string
  /** The user it runs as, if not the one of this test. */
  readonly user?: number
  start(settings: Environment): Promise<Served>
}

type Program = readonly [string, ...string[]]

type ReleasedProgram = {
  /** The program, before the arguments. */
  readonly program: Program
  readonly folder: string
  readonly environment?: Environment
  /** The program that makes the backup, if another one does. */
  readonly backup?: Program
}

export const asProcess = ({ program, folder, environment, backup = program }: ReleasedProgram): Released => ({
  folder,
  start: async (settings) => {
    const options = { cwd: folder, env: { PATH: '/usr/bin:/bin', ...environment, ...settings } }
    const [file, ...args] = program
    const server = running(file, [...args, 'server'], options)
    return {
      get output() {
        return server.output
      },
      prints: server.prints,
      command: (name, ...more) => {
        const [other, ...before] = name === 'backup' ? backup : program
        return outcomeOf(other, [...before, name, ...more], options)
      },
      stop: () => {
        server.kill('SIGTERM')
        return server.ended
      },
      [Symbol.asyncDispose]: server[Symbol.asyncDispose],
    }
  },
})

/** It starts with TLS, has the web UI, lets a person log in and read a secret, makes a backup that is intact, and stops. */
export async function expectToServe({ folder, inside = folder, user, start }: Released): Promise<void> {
  using authority = new Authority()
  const at = (name: string) => join(inside, name)
  for (const [name, text] of Object.entries(authority.sign('release'))) {
    await writeFile(join(folder, name), text, { mode: 0o600 })
    if (user !== undefined) await chown(join(folder, name), user, user)
  }

  await using server = await start({
    GATEHOUSE_LISTEN: '127.0.0.1:0',
    GATEHOUSE_TLS: 'auto',
    GATEHOUSE_TLS_CERT_FILE: at('cert'),
    GATEHOUSE_TLS_KEY_FILE: at('key'),
    GATEHOUSE_STORAGE: `sqlite:${at('gatehouse.db')}`,
    GATEHOUSE_SEAL_KEY_FILE: at('seal.key'),
    GATEHOUSE_ROOT_TOKEN_FILE: at('root-token'),
  })
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
  const secret = await anyone.with(String(login.body.auth?.['client_token'])).read('secret/data/app')
  const backup = await server.command('backup', at('copy.db'))
  const verified = await server.command('verify', at('copy.db'))

  expect([page.status, script.status, login.status]).toEqual([200, 200, 200])
  expect(secret.body.data?.['data']).toEqual({ word: 'open' })
  expect([backup, verified]).toMatchObject([{ code: 0 }, { code: 0 }])
  expect(await server.stop()).toBe(0)
}
