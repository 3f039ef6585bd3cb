import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { logIn, openPage } from './pages.ts'

const listFile = new URL('../../dist/ui/files.json', import.meta.url)

/** A person signs in at the web UI of a server, and each file of its build arrives whole in each encoding. */
export async function expectShippedUi(url: string, token: string): Promise<void> {
  await using opened = await openPage(`${url}/ui/`)
  await logIn(opened.page, token)
  const files = JSON.parse(await readFile(listFile, 'utf8')) as Record<string, { hash: string }>
  const assets = Object.entries(files).filter(([name]) => name !== 'index.html')

  expect(opened.complaints).toEqual([])
  for (const [name, { hash }] of assets)
    for (const encoding of ['identity', 'br', 'gzip']) {
      const response = await fetch(`${url}/ui/${name}`, { headers: { 'Accept-Encoding': encoding } })
      const received = createHash('sha256')
        .update(await response.bytes())
        .digest('hex')
      expect({ name, encoding, received }).toEqual({ name, encoding, received: hash })
    }
}
