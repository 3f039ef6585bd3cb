import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { Client } from '../support/client.ts'
import { StartedProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')

/**
 * Programs as they were at commit 1e89a226, the first that does everything with PostgreSQL, and as version 0.2.0: the text of
 * each file by its path, without types, comments and white space. A clone may not have their commits.
 */
export type OlderCode = '1e89a226' | '0.2.0'

/** An older program in a folder of its own. It uses the packages of this one. */
export async function unpackOlderCode(
  name: OlderCode = '1e89a226',
): Promise<Awaited<ReturnType<typeof temporaryFolder>>> {
  const folder = await temporaryFolder()
  const packed = await readFile(join(import.meta.dirname, `code/${name}.json.br`))
  const text = String(await promisify(brotliDecompress)(packed))
  for (const [path, content] of Object.entries<string>(JSON.parse(text))) {
    await mkdir(dirname(folder.file(path)), { recursive: true })
    await writeFile(folder.file(path), content)
  }
  await symlink(join(project, 'node_modules'), folder.file('node_modules'))
  return folder
}

/** This code as the next release, in a folder of its own: with a higher version, and one more migration. */
export async function nextRelease(version: string): Promise<Awaited<ReturnType<typeof temporaryFolder>>> {
  const folder = await temporaryFolder()
  for (const part of ['src', 'migrations'])
    await cp(join(project, part), folder.file(part), { recursive: true })
  const metadata = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as object
  await writeFile(folder.file('package.json'), JSON.stringify({ ...metadata, version }))
  await writeFile(
    folder.file('migrations/postgres/0009-next-release.sql'),
    'CREATE TABLE next_release (a integer); ALTER TABLE records ADD COLUMN b integer;',
  )
  await symlink(join(project, 'node_modules'), folder.file('node_modules'))
  return folder
}

/** Starts the program in the folder `code` as a server of its own. */
export async function startCodeIn(code: string, settings: Record<string, string>, program = 'src/main.ts') {
  const folder = await mkdtemp(join(code, 'server-'))
  const child = new StartedProcess(relative(project, join(code, program)), {
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
