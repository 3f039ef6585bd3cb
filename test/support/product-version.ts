import { readFileSync } from 'node:fs'

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

/** The version in package.json. */
export const productVersion = (JSON.parse(read('package.json')) as { version: string }).version

/** When that version was made, by the changelog: the text that `sys/version-history` shows. */
export const productDate = `${
  new RegExp(`^## ${RegExp.escape(productVersion)} \\((.*)\\)$`, 'm').exec(read('CHANGELOG.md'))?.[1]
}T00:00:00Z`
