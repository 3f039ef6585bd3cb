import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { borrowServer } from '../support/borrowed-server.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/compatibility.md'), 'utf8')

/** What a table says of each type in its first column. */
function typesIn(heading: string): { type: string; isOffered: boolean }[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| (`.+?) \| (.+?) \|/gm)
  return [...rows].flatMap(([, types = '', here = '']) =>
    [...types.matchAll(/`([^`]+)`/g)].map(([, type = '']) => ({ type, isOffered: here !== 'not offered' })),
  )
}

/** They are mounted once, by the server. */
const fixed = ['token', 'cubbyhole', 'identity']

test.each([
  { heading: 'Login methods', table: 'sys/auth', least: 15 },
  { heading: 'Secrets engines', table: 'sys/mounts', least: 15 },
])('the server offers the $heading that the page says, and no others', async ({ heading, table, least }) => {
  await using server = await borrowServer()
  const types = typesIn(heading).filter(({ type }) => !fixed.includes(type))

  const found = []
  for (const { type } of types) {
    const { status } = await server.root.write(`${table}/tried-${type}`, { type })
    found.push({ type, isOffered: status === 204 })
  }

  expect(types.length).toBeGreaterThan(least)
  expect(found).toEqual(types)
})

const catalog = z.object({ data: z.object({ auth: z.array(z.string()), secret: z.array(z.string()) }) })

test('the page names each type that can be mounted', async () => {
  await using server = await borrowServer()
  const { auth, secret } = catalog.parse((await server.root.read('sys/plugins/catalog')).body).data
  const named = ['Login methods', 'Secrets engines'].flatMap(typesIn).map(({ type }) => type)

  expect(auth).not.toEqual([])
  for (const type of [...auth, ...secret]) expect(named).toContain(type)
})
