import { lstatSync, renameSync, unlinkSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { systemCode } from '../lib/private-file.ts'
import { systemRandom } from '../lib/random.ts'
import { ListenError } from './listen-address.ts'

/** The file of a Unix socket that this process has bound. */
export type UnixSocketFile = {
  /** Removes it, unless another server has taken its place. */
  remove(): void
}

/** Keeps everyone but the owner from connecting. */
const ownerOnly = 0o177

/**
 * Binds a Unix socket that only its owner may connect to (mode 0600). The file of a server that is gone is
 * replaced; one that is in use, or anything else at the path, is refused. `bind` must bind its argument before
 * it returns: the path leads to the socket once it is ready.
 */
export async function bindUnixSocket<T>(
  path: string,
  bind: (path: string) => T,
): Promise<{ bound: T; file: UnixSocketFile }> {
  await checkFree(path)
  // the system removes the name that was bound when the socket closes, which may be too early
  const bindAt = join(dirname(path), `.${systemRandom.uuid().slice(0, 8)}`)
  const bound = withMask(ownerOnly, () => bind(bindAt))
  const { ino } = lstatSync(bindAt)
  renameSync(bindAt, path)
  const remove = () => {
    if (inodeOf(path) === ino) unlinkSync(path)
  }
  return { bound, file: { remove } }
}

async function checkFree(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return
  if (!found.isSocket()) throw new ListenError('the file exists and is not a socket')
  if (await isServed(path)) throw new ListenError('EADDRINUSE')
}

/** Whether a process listens on it; only a refused connection says that none does. */
const isServed = (path: string): Promise<boolean> =>
  new Promise((settle) => {
    const socket = connect(path)
    const end = (isServed: boolean) => {
      socket.destroy()
      settle(isServed)
    }
    socket.once('connect', () => end(true))
    socket.once('error', (error) => end(!['ECONNREFUSED', 'ENOENT'].includes(systemCode(error))))
  })

function withMask<T>(mask: number, work: () => T): T {
  const before = process.umask(mask)
  try {
    return work()
  } finally {
    process.umask(before)
  }
}

const inodeOf = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.ino
