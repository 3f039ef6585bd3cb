import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { Client } from '../support/client.ts'
import { StartedProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')

/**
 * The program as it was at commit 1e89a226, the first that does everything with PostgreSQL: the text of each
 * file by its path, without types, comments and white space. A clone may not have that commit.
 */
const packed = join(import.meta.dirname, 'code/1e89a226.json.br')

/** The older program in a folder of its own. It uses the packages of this one. */
export async function unpackOlderCode(): Promise<Awaited<ReturnType<typeof temporaryFolder>>> {
  const folder = await temporaryFolder()
  const text = String(await promisify(brotliDecompress)(await readFile(packed)))
  for (const [path, content] of Object.entries<string>(JSON.parse(text))) {
    await mkdir(dirname(folder.file(path)), { recursive: true })
    await writeFile(folder.file(path), content)
  }
  await symlink(join(project, 'node_modules'), folder.file('node_modules'))
  return folder
}

/** Starts the program in the folder `code` as a server of its own. */
export async function startCodeIn(code: string, settings: Record<string, string>) {
  const folder = await mkdtemp(join(code, 'server-'))
  const child = new StartedProcess(relative(project, join(code, 'src/main.ts')), {
    folder,
    settings,
    // nothing in the cache of this project's code could be used again
    environment: { NODE_COMPILE_CACHE: join(code, 'compiled') },
  })
  await child.logged('listening on ')
  const anonymous = new Client(/listening on (http:\/\/[^\s"]+)/.exec(child.stderr)?.[1] ?? '')
  return {
    anonymous,
    as: (token: string) => anonymous.with(token),
    get rootToken() {
      return /^Root token: (\S+)$/m.exec(child.stdout)?.[1] ?? ''
    },
    stop: () => child.end('SIGTERM'),
    [Symbol.asyncDispose]: async () => void (await child.end('SIGKILL')),
  }
}
