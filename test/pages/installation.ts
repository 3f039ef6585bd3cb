import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { programFile } from '../support/bundled.ts'
import { Client } from '../support/client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { curl } from './curl.ts'
import { jq } from './jq.ts'
import { type Followed, openStandIns, type StandIn } from './stand-ins.ts'

const project = join(import.meta.dirname, '../..')
/** `npm run -s NAME [-- ARGUMENT…]`, as the pages use it: npm itself takes longer than what it runs. */
const npm = `#!/bin/sh
set -eu
[ "$1 $2" = 'run -s' ]
script=$(sed -n "s/^    \\"$3\\": \\"\\(.*\\)\\",\\{0,1\\}$/\\1/p" package.json)
[ -n "$script" ]
shift 3
if [ $# -gt 0 ]; then shift; fi
exec sh -c "$script \\"\\$@\\"" npm "$@"
`

/** A folder in which an operator works, with a service `gatehouse` that `systemctl` starts and stops there. */
export type Installation = AsyncDisposable & {
  file(name: string): string
  /** The address of the server, in each of its lives. */
  readonly url: string
  /** The variables of the operator's shell: `VAULT_ADDR`, and whatever a recipe assumes. */
  readonly variables: Record<string, string>
  as(token: string): Client
  /** The log of all lives. */
  readonly log: string
  /** Runs a shell block that is not on the page, for instance to prepare what a recipe assumes. */
  shell(script: string): Promise<Followed>
  /** Runs the blocks of a section as they are: all in one shell, or only the one with this index. */
  follow(section: string, block?: number): Promise<Followed>
}

/** An installation of the package with its settings in `.env`; nothing is started. */
export async function installation(settings: Readonly<Record<string, string>> = {}): Promise<Installation> {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  await cp(join(project, 'bin'), folder.file('bin'), { recursive: true })
  for (const part of ['node_modules', 'package.json']) await symlink(join(project, part), folder.file(part))
  await mkdir(folder.file('dist'))
  await symlink(programFile('src/process/main.ts'), folder.file('dist/gatehouse.js'))
  const lines = Object.entries(settings).map(([name, value]) => `GATEHOUSE_${name}=${value}\n`)
  await writeFile(folder.file('.env'), lines.join(''))
  const programs = folder.file('programs')
  await mkdir(programs)
  await writeFile(join(programs, 'npm'), npm, { mode: 0o700 })
  const service = opened.use(new Service(folder.path))
  const front = opened.use(await frontOf(() => service.port))
  const standIns = opened.use(await openStandIns({ curl, jq, systemctl: systemctlOf(service) }))
  const variables: Record<string, string> = { VAULT_ADDR: front.url }
  const environment = {
    ...withoutSettings(process.env),
    // what `.env` would have: the service takes any port
    GATEHOUSE_LISTEN: new URL(front.url).host,
    PATH: programs,
  }
  const shell = (script: string) =>
    standIns.run(script, { cwd: folder.path, env: { ...environment, ...variables } })
  const anonymous = new Client(front.url)
  const held = opened.move()
  return {
    file: folder.file,
    url: front.url,
    variables,
    as: (token) => anonymous.with(token),
    get log() {
      return service.log
    },
    shell,
    follow: (section, block) => shell(blocksOf(section, block)),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

const withoutSettings = (environment: NodeJS.ProcessEnv) =>
  Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^(?:GATEHOUSE|VITEST|CLOUD|VAULT|npm)_/.test(name)),
  )

/** The server of an installation, as a service manager runs it. */
class Service implements AsyncDisposable {
  log = ''
  #child: ChildProcess | undefined
  #port = 0
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The port of the running server; 0 if none runs. */
  get port(): number {
    return this.#child === undefined ? 0 : this.#port
  }

  async do([verb, ...words]: readonly string[]): Promise<void> {
    if (words.at(-1) !== 'gatehouse') throw new Error('there is only the service gatehouse')
    if (verb === 'stop' || verb === 'restart') await this.#stop('SIGTERM')
    if (verb === 'start' || verb === 'restart') await this.#start()
    if (verb === 'kill') this.#child?.kill(words[0]?.replace('--signal=', 'SIG') as NodeJS.Signals)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop('SIGKILL')
  }

  /** Resolves once the server listens. */
  async #start(): Promise<void> {
    const child = spawn('sh', ['bin/gatehouse'], {
      cwd: this.#folder,
      env: { ...withoutSettings(process.env), GATEHOUSE_LISTEN: '127.0.0.1:0' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
      killSignal: 'SIGKILL',
    })
    this.#child = child
    const ended = once(child, 'close').then(([code]) => {
      this.#child = undefined
      throw new Error(`the service ended with ${code}:\n${log}`)
    })
    ended.catch(() => {})
    let log = ''
    child.stdout.resume()
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      this.log += text
    })
    const port = () => Number(/listening on http:\/\/[^:]+:(\d+)/.exec(log)?.[1] ?? 0)
    while (port() === 0) await Promise.race([once(child.stderr, 'data'), ended])
    this.#port = port()
  }

  async #stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const closed = once(child, 'close')
    child.kill(signal)
    await closed
  }
}

/** An address that leads to the server in each of its lives. */
async function frontOf(portNow: () => number): Promise<AsyncDisposable & { url: string }> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const port = portNow()
    if (port === 0) return client.destroy()
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    client.pipe(upstream).pipe(client)
    return undefined
  })
  const url = await listening(server)
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

/**
 * The part of systemctl that our pages use: `start`, `stop`, `restart`, or `kill --signal=NAME`, each followed by
 * `gatehouse`.
 */
const systemctlOf = (service: Service): StandIn => ({
  perform: async ({ args }) => {
    await service.do(args)
    return { output: '' }
  },
})

async function listening(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  // a listening TCP server has an address with a port
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const page = readFileSync(join(project, 'docs/operations.md'), 'utf8')

/** The headings of the sections that have shell blocks. */
export const sectionsWithBlocks = (): string[] =>
  sections().flatMap(({ heading, blocks }) => (blocks.length > 0 ? [heading] : []))

function blocksOf(wanted: string, index?: number): string {
  const section = sections().find(({ heading }) => heading === wanted)
  if (section === undefined || section.blocks.length === 0)
    throw new Error(`docs/operations.md has no recipe "${wanted}"`)
  return index === undefined ? section.blocks.join('\n') : (section.blocks[index] ?? '')
}

const sections = () =>
  page
    .split(/^(?=#{2,} )/m)
    .map((section) => ({
      heading: /^#+ (.*)$/m.exec(section)?.[1] ?? '',
      blocks: [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block),
    }))
