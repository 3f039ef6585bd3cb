import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { markOf, typedDocument } from './document-types.ts'

test("the UI's types are those of the server's API document: otherwise run `npm run ui:types`", async () => {
  const file = new URL('../../ui/src/api/document.ts', import.meta.url)
  const [first] = (await readFile(file, 'utf8')).split('\n', 1)

  expect(first?.split(' ').at(-1)).toBe(markOf(await typedDocument()))
})
