import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { running } from '../deploy/running.ts'
import { directive, environmentIn, program } from '../deploy/systemd-unit.ts'
import { outcomeOf } from '../deploy/tools.ts'
import { Client } from '../support/client.ts'
import { executable as builtExecutable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const needed = ['/usr/bin/systemd-notify', '/usr/bin/python3']
const lacks = needed.filter((file) => !existsSync(file))

/** Receives what services tell their manager, as systemd does. */
const notifications = `
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
print('listening', flush=True)
while True:
    print(listener.recv(4096).decode().strip(), flush=True)
`

/** What an operator installs, and what systemd makes: folders, and the credential. */
async function installIn(folder: string): Promise<void> {
  for (const name of ['S', 'L'])
    await mkdir(join(folder, name, 'gatehouse'), { recursive: true, mode: 0o700 })
  await mkdir(join(folder, 'd'))
  await writeFile(join(folder, 'd/seal.key'), '5e'.repeat(32), { mode: 0o400 })
}

/** The system's own programs only, as in a service. */
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

// a build of the executable takes minutes on a busy machine
test.skipIf(lacks.length > 0 && process.env['CI'] !== 'true')(
  'the command line of the systemd unit starts a server that says when it is ready, reloads and stops',
  { timeout: 600_000 },
  async () => {
    const built = await builtExecutable()
    await using folder = await temporaryFolder()
    const environment = { PATH: path, ...environmentIn(folder.path) }
    const [executable = '', ...args] = directive('ExecStart').split(' ')
    expect(executable).toBe(program)
    await installIn(folder.path)
    await using manager = running('/usr/bin/python3', ['-c', notifications, folder.file('notify')], {
      cwd: folder.path,
      env: { PATH: path },
    })
    await manager.prints('listening')

    await using service = running(built, args, {
      cwd: join(folder.path, 'S/gatehouse'),
      env: { ...environment, GATEHOUSE_LISTEN: '127.0.0.1:0', NOTIFY_SOCKET: folder.file('notify') },
    })
    await manager.prints('READY=1')
    await service.prints('"event":"started"')
    const url = new URL(/http:[^"]*/.exec(service.output)?.[0] ?? '')
    const init = await outcomeOf(built, ['init', '--out', folder.file('root-token')], {
      cwd: folder.path,
      env: { PATH: path, GATEHOUSE_LISTEN: url.host },
    })
    const root = new Client(url.origin, (await readFile(folder.file('root-token'), 'utf8')).trim())
    const log = join(folder.path, 'L/gatehouse/audit.log')
    const enabled = await root.write('sys/audit/file', { type: 'file', options: { file_path: log } })
    await rename(log, `${log}.1`)
    const reloaded = await outcomeOf('/bin/sh', [
      '-c',
      directive('ExecReload').replace('$MAINPID', service.pid),
    ])
    await expect.poll(() => existsSync(log)).toBe(true)
    service.kill('SIGTERM')

    expect(init).toMatchObject({ code: 0 })
    expect(enabled.status).toBe(204)
    expect(reloaded).toMatchObject({ code: 0, output: '' })
    expect(await service.ended).toBe(0)
    expect((await stat(folder.file('root-token'))).mode & 0o777).toBe(0o600)
  },
)
