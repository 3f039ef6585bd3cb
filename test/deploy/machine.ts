import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { readFile, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { running } from './running.ts'
import { outcomeOf } from './tools.ts'

const project = join(import.meta.dirname, '../..')
const cgroups = /^\S+ (\S+) cgroup2 /m.exec(
  existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8') : '',
)?.[1]
const lacksRights = () =>
  spawnSync('unshare', ['--mount', '--pid', '--fork', '--net', '--cgroup', 'true']).status !== 0

/** Why this machine cannot start others: who may not make namespaces is not told to install anything. */
export const lacksNamespaces: string | undefined =
  process.getuid?.() !== 0 || cgroups === undefined || lacksRights()
    ? 'needs root, namespaces and cgroups of version 2'
    : undefined

/** A machine whose PID 1 is systemd: the file system of this one, without its services and its network. */
export type Machine = AsyncDisposable & {
  /** Runs a script of the shell as root, in the folder of this project. */
  run(script: string): Promise<{ code: number | null; output: string }>
}

/** Boots systemd, with `executable` as `/usr/local/bin/gatehouse`. */
export async function bootedMachine(executable: string): Promise<Machine> {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  opened.defer(() => removeCgroups(join(cgroups ?? '', basename(folder.path))))
  const booting = opened.use(
    running(join(import.meta.dirname, 'machine.sh'), [folder.path, executable, project], {
      cwd: folder.path,
      env: { PATH: process.env['PATH'] },
    }),
  )
  const systemd = async () =>
    (await readFile(`/proc/${booting.pid}/task/${booting.pid}/children`, 'utf8')).trim()
  const run = async (script: string) =>
    outcomeOf('nsenter', [
      ...['--target', await systemd(), '--all', '--root', '--wd'],
      ...['/usr/bin/env', '-i', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      ...['sh', '-ec', `cd /project\n${script}`],
    ])
  const isBooted = async () => (await run('exec systemctl is-active multi-user.target')).code
  await expect.poll(isBooted, { timeout: 60_000 }).toBe(0)
  const held = opened.move()
  return { run, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

/** Removes what systemd leaves of its cgroups. Their processes are gone, which the kernel may learn a moment later. */
async function removeCgroups(top: string): Promise<void> {
  const { stdout } = await outcomeOf('find', [top, '-depth', '-type', 'd'])
  for (const group of stdout.split('\n').filter(Boolean))
    await expect
      .poll(() =>
        rmdir(group).then(
          () => true,
          () => !existsSync(group),
        ),
      )
      .toBe(true)
}
