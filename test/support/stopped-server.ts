import { cp } from 'node:fs/promises'
import { afterAll } from 'vitest'
import { type FolderServer, startInFolder } from './folder-server.ts'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * Provides folders of a server that was started, filled and stopped in order, once for all tests of a file;
 * each test gets a copy. The returned function fills an empty folder with one and resolves with the root
 * token.
 */
export function stoppedServer(
  fill: (server: FolderServer) => Promise<unknown> = async () => {},
): (folder: string) => Promise<string> {
  const opened = new AsyncDisposableStack()
  afterAll(() => opened.disposeAsync())
  const make = async () => {
    const { path } = opened.use(await temporaryFolder())
    await using server = await startInFolder({ folder: path })
    await fill(server)
    await server.stop()
    return { path, rootToken: server.rootToken }
  }
  let made: ReturnType<typeof make> | undefined
  return async (folder) => {
    made ??= make()
    const { path, rootToken } = await made
    await cp(path, folder, { recursive: true })
    return rootToken
  }
}
