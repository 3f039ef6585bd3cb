import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, type BrowserServer, chromium as driver } from 'playwright-core'

const cache = fileURLToPath(new URL('../../node_modules/.cache/chromium/', import.meta.url))
const manifest = new URL('../../node_modules/@sparticuz/chromium/package.json', import.meta.url)

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--renderer-process-limit=1',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  // no script runs long enough to gain from what it costs to optimize it
  '--js-flags=--no-maglev,--no-turbofan',
]

/** A browser with default settings; no origin check is disabled. */
export const launch = async (): Promise<Browser> =>
  driver.launch({ executablePath: await unpackedBrowser(), args })

/** Likewise, for several processes. */
export const launchServer = async (): Promise<BrowserServer> =>
  driver.launchServer({ executablePath: await unpackedBrowser(), args })

/** The package holds the browser compressed. It is unpacked once for each version. */
async function unpackedBrowser(): Promise<string> {
  const { version } = JSON.parse(await readFile(manifest, 'utf8'))
  const folder = join(cache, String(version))
  if (!existsSync(folder)) await unpack(folder)
  return join(folder, 'chromium')
}

const project = fileURLToPath(new URL('../..', import.meta.url))
const unpacking = "await (await import('@sparticuz/chromium')).default.executablePath()"

/**
 * The package unpacks into the folder for temporary files, and trusts whatever it finds there. A process of its own has
 * another such folder; all that this process starts meanwhile keeps the usual one.
 */
async function unpack(folder: string): Promise<void> {
  await mkdir(cache, { recursive: true })
  const fresh = await mkdtemp(join(cache, 'unpacking-'))
  const options = { cwd: project, env: { ...process.env, TMPDIR: fresh } }
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', unpacking], options)
  try {
    await rename(fresh, folder)
  } catch (error) {
    // another process was faster
    await rm(fresh, { recursive: true })
    if (!existsSync(folder)) throw error
  }
}
