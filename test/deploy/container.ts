import { randomUUID } from 'node:crypto'
import { chmod, chown, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { program, writable } from './image.ts'
import { running } from './running.ts'
import { missing, outcomeOf } from './tools.ts'

const seccompFile = '/usr/share/containers/seccomp.json'
const runtime = '/usr/bin/crun'

/** Why this machine cannot run containers. */
export const lacksRuntime: string | undefined = missing(runtime) ?? missing(seccompFile)

/** The user of the image. */
export const imageUser = 65532

export type Mount = {
  readonly destination: string
  /** A file or folder of this machine. Default: memory. */
  readonly source?: string
  readonly options?: readonly string[]
}

export type Root = { readonly root: string; readonly mounts: readonly Mount[] }

export type Container = Root & {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly user: number
  /** The only capabilities it has. */
  readonly capabilities?: readonly string[]
  /** True: it has the network of this machine. */
  readonly sharesNetwork?: boolean
}

export type RunningContainer = AsyncDisposable & {
  /** Of its first process. */
  readonly pid: string
  readonly output: string
  prints(text: string): Promise<void>
  /** Runs a program of the container inside. */
  exec(...args: string[]): Promise<{ code: number | null; output: string }>
  /** Runs a script of this machine's shell in the network of the container. */
  beside(script: string): Promise<{ code: number | null; stdout: string; output: string }>
  /** Ends it, as container runtimes do by default. Resolves with its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

type SystemCall = {
  names: string[]
  includes?: { caps?: string[]; arches?: string[] }
  excludes?: { caps?: string[] }
}

/** The system calls that container runtimes allow by default to a container without capabilities. */
async function seccomp() {
  const { defaultAction, defaultErrnoRet, syscalls } = JSON.parse(await readFile(seccompFile, 'utf8'))
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const allowed = (syscalls as SystemCall[]).filter(
    ({ includes }) => includes?.caps === undefined && includes?.arches?.includes(architecture) !== false,
  )
  return { defaultAction, defaultErrnoRet, syscalls: allowed.map(({ includes, excludes, ...rule }) => rule) }
}

/** Runs a container with a read-only root, no way to get rights, no core files and, as a rule, a network of its own. */
export async function started(folder: string, container: Container): Promise<RunningContainer> {
  const { root, args, environment, user, mounts, capabilities = [], sharesNetwork = false } = container
  const name = randomUUID()
  const bundle = join(folder, name)
  const pidFile = join(bundle, 'pid')
  await mkdir(bundle)
  const kinds = ['bounding', 'effective', 'permitted']
  const fixed = [
    { destination: '/proc', type: 'proc', source: 'proc' },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
  ]
  const config = {
    ociVersion: '1.0.0',
    root: { path: root, readonly: true },
    hostname: 'container',
    process: {
      args,
      env: Object.entries({ PATH: '/usr/local/bin:/usr/bin', ...environment }).map((pair) => pair.join('=')),
      cwd: '/',
      user: { uid: user, gid: user },
      capabilities: Object.fromEntries(kinds.map((kind) => [kind, capabilities])),
      noNewPrivileges: true,
      rlimits: [{ type: 'RLIMIT_CORE', hard: 0, soft: 0 }],
    },
    mounts: [
      ...fixed,
      ...mounts.map(({ destination, source, options = [] }) =>
        source === undefined
          ? { destination, type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', ...options] }
          : { destination, type: 'bind', source, options: ['bind', ...options] },
      ),
    ],
    linux: {
      namespaces: ['pid', 'ipc', 'uts', 'mount', ...(sharesNetwork ? [] : ['network'])].map((type) => ({
        type,
      })),
      seccomp: await seccomp(),
    },
  }
  await writeFile(join(bundle, 'config.json'), JSON.stringify(config))
  const crun = [runtime, '--cgroup-manager=disabled', `--root=${join(folder, 'state')}`]
  // crun wants one version of cgroups, and does not use them here
  const script = 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"'
  const run = ['run', `--bundle=${bundle}`, `--pid-file=${pidFile}`, name]
  const child = running('unshare', ['--mount', 'sh', '-c', script, 'sh', ...crun, ...run], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
  })
  await expect
    .poll(() => readFile(pidFile, 'utf8').catch(() => child.output), { timeout: 30_000 })
    .toMatch(/^\d+$/)
  const pid = await readFile(pidFile, 'utf8')
  return {
    pid,
    get output() {
      return child.output
    },
    prints: child.prints,
    exec: (...command) =>
      outcomeOf('nsenter', [
        '--target',
        child.pid,
        '--mount',
        ...crun,
        'exec',
        `--user=${user}:${user}`,
        name,
        ...command,
      ]),
    beside: (text) => outcomeOf('nsenter', ['--target', pid, '--net', 'sh', '-ec', text]),
    stop: (signal = 'SIGTERM') => {
      process.kill(Number(pid), signal)
      return child.ended
    },
    [Symbol.asyncDispose]: async () => {
      await outcomeOf(runtime, [...crun.slice(1), 'delete', '--force', name])
      await child[Symbol.asyncDispose]()
    },
  }
}

/** A root with nothing but the libraries that a program loads, which is mounted. */
export async function rootFor(file: string, { at, root }: { at: string; root: string }): Promise<Root> {
  const { stdout } = await outcomeOf('ldd', [file])
  for (const [, library = ''] of stdout.matchAll(/(\/\S+) \(0x/g)) {
    const to = join(root, library.includes('libatomic') ? '/usr/lib/libatomic.so.1' : library)
    await mkdir(dirname(to), { recursive: true })
    await cp(library, to, { dereference: true })
  }
  return { root, mounts: [{ destination: at, source: file, options: ['ro'] }] }
}

/**
 * The root of the image, as the last stage of the Dockerfile makes it: with the libraries of this machine in place of those of
 * its base.
 */
export async function imageRoot(folder: string, executable: string): Promise<Root> {
  const image = await rootFor(executable, { at: program, root: join(folder, 'image') })
  for (const path of writable) await folderOf(imageUser, join(image.root, path))
  return image
}

/** A new folder of a user's, as images and volumes have it. */
export async function folderOf(user: number, path: string, mode = 0o700): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  await mkdir(path)
  await chown(path, user, user)
  await chmod(path, mode)
  return path
}

/** The status in the kernel of a process that has no rights, gets none, and cannot write the root of its file system. */
export const confinement = {
  user: String(imageUser),
  capabilities: ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) => `${set}:\t${'0'.repeat(16)}`),
  gains: ['NoNewPrivs:\t1', 'Seccomp:\t2'],
  coreFiles: '0',
  root: 'ro',
}

export async function confinementOf({ pid }: RunningContainer): Promise<typeof confinement> {
  const [status, limits, mounts] = await Promise.all(
    ['status', 'limits', 'mountinfo'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
  )
  return {
    user: /^Uid:\t(\d+)/m.exec(status ?? '')?.[1] ?? '',
    capabilities: status?.match(/^Cap(?!Inh).*$/gm) ?? [],
    gains: status?.match(/^(?:NoNewPrivs|Seccomp):.*$/gm) ?? [],
    coreFiles: /^Max core file size +\S+ +(\S+)/m.exec(limits ?? '')?.[1] ?? '',
    root: / \/ (r[ow])/.exec(mounts ?? '')?.[1] ?? '',
  }
}
