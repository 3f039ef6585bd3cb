import { type Browser, chromium as driver } from 'playwright-core'
import { inject } from 'vitest'
import type { BrowserOfTheRun } from '../support/browser-of-the-run.ts'
import { placeOf } from '../support/doorbell.ts'

let connected: Promise<Browser> | undefined

/** All files of a run share one browser. */
export const openedBrowser = (): Promise<Browser> => (connected ??= connect())

async function connect(): Promise<Browser> {
  const { endpoint } = await placeOf<BrowserOfTheRun>(inject('browser'))
  return driver.connect(endpoint)
}
