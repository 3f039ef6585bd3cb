import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkNamed } from '../../src/logins/refusals/refusal.ts'
import { namedRefusals, providerPages, readPage } from './page.ts'
import { commandsIn, curlRequest } from './shell.ts'

const pages = readdirSync(providerPages).map((file) => file.replace(/\.md$/, ''))

test('every page is in the list of pages, and every link leads somewhere', () => {
  const list = readPage('README')
  for (const page of pages.filter((name) => name !== 'README')) expect(list).toContain(`(${page}.md)`)
  for (const page of pages) {
    const links = [...readPage(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target)
    expect(links.filter((target) => !existsSync(join(providerPages, target)))).toEqual([])
  }
})

test('every reason that a page names exists', () => {
  for (const page of pages.filter((name) => name !== 'README')) {
    const named = namedRefusals(readPage(page))
    expect(named.length).toBeGreaterThan(4)
    expect(
      named.filter((name) => checkNamed(name) === '' && name !== 'error checking oidc discovery URL'),
    ).toEqual([])
  }
})

test('commands are read as a shell reads them', () => {
  const page =
    'text\n```sh\nexport A=1 B=\'two words\'   # why\n\ncurl -H "T: $A" \\\n  $URL/x -d \'{"a": "\'$B\'",\n "b": "\\""}\'\ncurl -G "$URL/y" --data-urlencode "s=$B"\n```\n```yaml\nno: command\n```\n'
  const variables = new Map(Object.entries({ A: '1', B: 'two words', URL: 'http://h' }))

  const [exported, posted, asked] = commandsIn(page).map((command) => command(variables))

  expect(exported).toEqual(['export', 'A=1', 'B=two words'])
  expect(curlRequest(posted ?? [])).toEqual({
    method: 'POST',
    url: 'http://h/x',
    headers: { T: '1' },
    body: '{"a": "two words",\n "b": "\\""}',
  })
  expect(curlRequest(asked ?? [])).toEqual({
    method: 'GET',
    url: 'http://h/y?s=two%20words',
    headers: {},
    body: undefined,
  })
})
