import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { productVersion } from '../support/product-version.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')

/** `npm version` writes these: CONTRIBUTING.md#versions. Everything else reads package.json. */
test.each([
  { file: 'package-lock.json', place: /"name": "gatehouse",\n +"version": "(.*)"/g, times: 2 },
  { file: 'deploy/helm/gatehouse/Chart.yaml', place: /^(?:appV|v)ersion: (.*)$/gm, times: 2 },
  { file: 'deploy/kubernetes/kustomization.yaml', place: /^ +newTag: (.*)$/gm, times: 1 },
])('$file has the version of package.json', ({ file, place, times }) => {
  const stated = [...read(file).matchAll(place)].map(([, version]) => version)

  expect(stated).toEqual(Array.from({ length: times }, () => productVersion))
})

test('the CHANGELOG begins with the version and the date of package.json', () => {
  const { date } = JSON.parse(read('package.json')) as { date: string }

  expect(/^## .*$/m.exec(read('CHANGELOG.md'))?.[0]).toBe(`## ${productVersion} (${date})`)
})

test('the section of a version says first what an operator must do, then what is fixed for security, then what is new', () => {
  const [, section = ''] = read('CHANGELOG.md').split(/^## /m)
  const parts = [...section.matchAll(/^### (.*)$/gm)].map(([, title]) => title)

  expect(parts).toEqual(
    ['Before you upgrade', 'Fixed for security', 'New'].filter((title) => parts.includes(title)),
  )
  expect(parts).not.toEqual([])
})
