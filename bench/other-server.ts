import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { send, sendSuccessfully } from '../simulators/operator.ts'

export type OtherServerInput = {
  /**
   * A shell command that starts the server in the foreground. It gets `PORT`, where the server must listen on
   * 127.0.0.1; `TOKEN`, the root token for servers that take one; `FOLDER`, an empty folder for its files; and
   * `DATABASE`, the URL of an empty PostgreSQL database, if there is one.
   */
  readonly command: string
  readonly folder: string
  readonly database?: string
}

/** A server that speaks the API, with a mount `auth/jwt`. */
export interface OtherServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly rootToken: string
  /** From the start of the command to the first 200 of `sys/health`; undefined if it had to be initialised. */
  readonly readyAfterMs: number | undefined
}

const startLimitMs = 60_000
const pollEveryMs = 5
const chosenToken = 'bench-root-token'

/** Starts any server that speaks the API. One that is not initialised yet is initialised and unsealed. */
export async function startOtherServer({
  command,
  folder,
  database = '',
}: OtherServerInput): Promise<OtherServer> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const startedAt = performance.now()
  // in a process group of its own, so that what the shell starts ends with it
  const child = spawn('sh', ['-c', command], {
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
    env: { ...process.env, PORT: String(port), TOKEN: chosenToken, FOLDER: folder, DATABASE: database },
  })
  const { pid } = child
  if (pid === undefined) throw new Error('sh did not start')
  const kill = () => {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // it has ended
    }
  }
  // before the removal of the folder that the server writes to
  process.prependListener('exit', kill)
  const ended = once(child, 'close').finally(() => process.off('exit', kill))
  const stop = async () => {
    kill()
    await ended
  }
  try {
    const opened = open(url, startedAt)
    const { rootToken, readyAfterMs } = await Promise.race([
      opened,
      ended.then(() => Promise.reject(new Error(`the command ended: ${command}`))),
    ])
    await mountLogins(url, rootToken)
    return { url, port, pid, rootToken, readyAfterMs, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function open(
  url: string,
  startedAt: number,
): Promise<Pick<OtherServer, 'rootToken' | 'readyAfterMs'>> {
  const status = await healthOf(url, [200, 429, 472, 473, 501], startedAt)
  if (status !== 501) return { rootToken: chosenToken, readyAfterMs: performance.now() - startedAt }
  const { body } = await sendSuccessfully(url, {
    method: 'POST',
    path: 'sys/init',
    body: { secret_shares: 1, secret_threshold: 1 },
  })
  const { keys, root_token: rootToken } = body as { keys: [string]; root_token: string }
  await sendSuccessfully(url, { method: 'POST', path: 'sys/unseal', body: { key: keys[0] } })
  await healthOf(url, [200], startedAt)
  return { rootToken, readyAfterMs: undefined }
}

/** Waits for one of these statuses of `sys/health`. */
async function healthOf(url: string, wanted: readonly number[], startedAt: number): Promise<number> {
  while (performance.now() < startedAt + startLimitMs) {
    const status = await send(url, { method: 'GET', path: 'sys/health' }).then(
      (response) => response.status,
      () => 0,
    )
    if (wanted.includes(status)) return status
    await pause(pollEveryMs)
  }
  throw new Error(`${url} is not ready: sys/health never had the status ${wanted.join(' or ')}`)
}

/** A new Gatehouse has the mount. */
async function mountLogins(url: string, token: string): Promise<void> {
  const { body } = await sendSuccessfully(url, { method: 'GET', path: 'sys/auth', token })
  if (typeof body?.data === 'object' && body.data !== null && 'jwt/' in body.data) return
  await sendSuccessfully(url, { method: 'POST', path: 'sys/auth/jwt', token, body: { type: 'jwt' } })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
