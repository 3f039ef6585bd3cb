import chromium from '@sparticuz/chromium'
import { type Browser, chromium as driver } from 'playwright-core'
import { temporaryFolder } from '../support/temporary-folder.ts'

export type OpenBrowser = AsyncDisposable & { readonly browser: Browser }

/**
 * A browser with default settings; no origin check is disabled. The package unpacks it into the folder for
 * temporary files and trusts whatever it finds there, so each browser gets a folder of its own.
 */
export async function openBrowser(): Promise<OpenBrowser> {
  await using held = new AsyncDisposableStack()
  const folder = held.use(await temporaryFolder())
  const { TMPDIR: before } = process.env
  process.env['TMPDIR'] = folder.path
  try {
    const executablePath = await chromium.executablePath()
    const args = [
      '--no-sandbox',
      '--no-zygote',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
    ]
    const browser = await driver.launch({ executablePath, args })
    held.defer(() => browser.close())
    const all = held.move()
    return { browser, [Symbol.asyncDispose]: () => all.disposeAsync() }
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}
