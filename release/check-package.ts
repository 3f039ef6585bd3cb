import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'

const limitMs = 300_000

/** Starts a server with `npx` from a package, in a folder with nothing else, as on a machine that never had it. */
export async function checkPackage(file: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-package-'))
  try {
    await copyFile(file, join(folder, basename(file)))
    const child = spawn('npx', ['--yes', `./${basename(file)}`, 'server'], {
      cwd: folder,
      env: {
        ...process.env,
        npm_config_cache: join(folder, 'cache'),
        GATEHOUSE_LISTEN: '127.0.0.1:0',
        GATEHOUSE_ROOT_TOKEN_FILE: join(folder, 'root-token'),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: limitMs,
    })
    const ended = once(child, 'close')
    const lines: string[] = []
    let status: number | undefined
    for await (const line of createInterface(child.stderr)) {
      lines.push(line)
      const [, url] = /listening on (http:[^\s"]+)/.exec(line) ?? []
      if (url === undefined) continue
      status = (await fetch(`${url}/v1/sys/health`)).status
      child.kill('SIGTERM')
    }
    await ended
    // npx itself ends by the signal
    if (status !== 200 || lines.at(-1)?.includes('"event":"stopped","exit_code":0') !== true)
      throw new Error(`npx ${file} answered ${status} and wrote:\n${lines.join('\n')}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
