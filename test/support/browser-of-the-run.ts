import type { TestProject } from 'vitest/node'
import { Doorbell } from './doorbell.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A socket that tells where the browser is, and starts it if it is not running. */
    browser: string
  }
}

/** What test files get to know. */
export type BrowserOfTheRun = { readonly endpoint: string }

async function start() {
  // most runs of a few files need none
  const { launchServer } = await import('../browser/launch.ts')
  const browser = await launchServer()
  const place: BrowserOfTheRun = { endpoint: browser.wsEndpoint() }
  return { place, [Symbol.asyncDispose]: () => browser.close() }
}

const doorbell = new Doorbell('browser', start)

/** One browser for all test files of a run. It stops with the last project that could use it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide('browser', await doorbell.open())
  return () => doorbell.leave()
}
