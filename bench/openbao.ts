import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { killOnExit } from '../simulators/exit.ts'
import { send, sendSuccessfully } from '../simulators/operator.ts'

export type OpenBaoInput = {
  /** The executable `bao`. */
  readonly program: string
  /** For its configuration. */
  readonly folder: string
  readonly database: string
}

export interface OpenBao extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly rootToken: string
}

const startLimitMs = 60_000

/** Starts OpenBao with its default settings over a PostgreSQL database, with a mount `auth/jwt`. */
export async function startOpenBao({ program, folder, database }: OpenBaoInput): Promise<OpenBao> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const file = join(folder, 'openbao.json')
  await writeFile(
    file,
    JSON.stringify({
      storage: { postgresql: { connection_url: `${database}?sslmode=disable` } },
      listener: [{ tcp: { address: `127.0.0.1:${port}`, tls_disable: true } }],
      api_addr: url,
      disable_mlock: true,
    }),
  )
  const child = spawn(program, ['server', `-config=${file}`, '-log-level=error'], { stdio: 'ignore' })
  killOnExit(child)
  const ended = once(child, 'close')
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  try {
    const rootToken = await Promise.race([
      initialize(url),
      ended.then(() => Promise.reject(new Error(`${program} ended`))),
    ])
    if (child.pid === undefined) throw new Error(`${program} did not start`)
    return { url, port, pid: child.pid, rootToken, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Returns the root token. */
async function initialize(url: string): Promise<string> {
  const until = performance.now() + startLimitMs
  const statusOf = () =>
    send(url, { method: 'GET', path: 'sys/health' }).then(
      ({ status }) => status,
      () => undefined,
    )
  const waitFor = async (wanted: number) => {
    while ((await statusOf()) !== wanted) {
      if (performance.now() > until) throw new Error(`OpenBao is not in the state ${wanted}`)
      await pause(100)
    }
  }
  await waitFor(501)
  const { body } = await sendSuccessfully(url, {
    ...{ method: 'POST', path: 'sys/init' },
    body: { secret_shares: 1, secret_threshold: 1 },
  })
  const { keys, root_token } = body as { keys: [string]; root_token: string }
  await sendSuccessfully(url, { method: 'POST', path: 'sys/unseal', body: { key: keys[0] } })
  await waitFor(200)
  await sendSuccessfully(url, {
    ...{ method: 'POST', path: 'sys/auth/jwt', token: root_token },
    body: { type: 'jwt' },
  })
  return root_token
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
