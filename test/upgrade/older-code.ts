import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { Client } from '../support/client.ts'
import { StartedProcess } from '../support/process.ts'

const project = join(import.meta.dirname, '../..')

/**
 * The program as it was at commit 1e89a226, the first that does everything with PostgreSQL: the text of each
 * file by its path, without types, comments and white space. A clone may not have that commit.
 */
const packed = join(import.meta.dirname, 'code/1e89a226.json.br')

/** Unpacks the older program into an empty folder. It uses the packages of this one. */
export async function unpackOlderCode(folder: string): Promise<void> {
  const text = String(await promisify(brotliDecompress)(await readFile(packed)))
  for (const [path, content] of Object.entries<string>(JSON.parse(text))) {
    await mkdir(join(folder, dirname(path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'))
}

/** Starts the program in a folder as a server of its own. */
export async function startCodeIn(folder: string, settings: Record<string, string>) {
  const child = new StartedProcess(relative(project, join(folder, 'src/main.ts')), { folder, settings })
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
