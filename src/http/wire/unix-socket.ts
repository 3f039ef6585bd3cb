import {
  accessSync,
  constants,
  lchownSync,
  linkSync,
  lstatSync,
  readFileSync,
  rmSync,
  unlinkSync,
} from 'node:fs'
import { lstat } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { systemCode } from '../../lib/system/private-file.ts'
import { systemRandom } from '../../lib/system/random.ts'
import { ListenError, reasonOf, type UnixSocketAt } from './listen-address.ts'

/** The file of a Unix socket that this process has bound. */
export type UnixSocketFile = {
  /** Removes it, unless another server has taken its place. */
  remove(): void
}

/**
 * Binds a Unix socket. The file of a server that is gone is
 * replaced; one that is in use, or anything else at the path, is refused. `bind` must bind its argument before
 * it returns: the path leads to the socket once it is ready.
 */
export async function bindUnixSocket<T extends { close(): unknown }>(
  at: UnixSocketAt,
  bind: (path: string) => T,
): Promise<{ bound: T; file: UnixSocketFile }> {
  const { path, mode, group } = at
  // a server reports later that it could not bind, and calls a missing folder EACCES
  accessSync(dirname(path), constants.W_OK | constants.X_OK)
  const left = await leftBehind(at)
  // the system removes the name that was bound when the socket closes, which may be too early
  const bindAt = join(dirname(path), `.${systemRandom.uuid().slice(0, 8)}`)
  const bound = withMask(0o777 & ~mode, () => bind(bindAt))
  const { ino } = lstatSync(bindAt)
  const remove = () => removeIf(path, ino)
  try {
    if (group !== undefined) giveTo(group, bindAt)
    if (left !== undefined) removeIf(path, left)
    // unlike a rename, it leaves the socket of a server that starts at the same moment
    linkSync(bindAt, path)
  } catch (error) {
    bound.close()
    if (systemCode(error) === 'EEXIST') throw new ListenError(reasonOf('EADDRINUSE', at))
    throw error
  } finally {
    rmSync(bindAt, { force: true })
  }
  return { bound, file: { remove } }
}

/** The inode of a socket whose server is gone; undefined if there is nothing. */
async function leftBehind(at: UnixSocketAt): Promise<number | undefined> {
  const { path } = at
  const found = await lstat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return undefined
  if (!found.isSocket()) throw new ListenError('the file exists and is not a socket')
  if (await isServed(path)) throw new ListenError(reasonOf('EADDRINUSE', at))
  return found.ino
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

/** The owner may give it to a group of its own; root, to any. */
function giveTo(group: string, path: string): void {
  const number = /^\d+$/.test(group) ? Number(group) : groupNumber(group)
  if (number === undefined) throw new ListenError(`/etc/group has no group ${group}: name it by its number`)
  try {
    lchownSync(path, -1, number)
  } catch (cause) {
    throw new ListenError(
      `the server's user cannot give the socket to group ${group}: ${systemCode(cause)}`,
      { cause },
    )
  }
}

function groupNumber(name: string): number | undefined {
  const line = readFileSync('/etc/group', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`))
  return line === undefined ? undefined : Number(line.split(':')[2])
}

function removeIf(path: string, ino: number): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) unlinkSync(path)
}
