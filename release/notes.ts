import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file of a release, and what to know of it. */
export type ReleasedFile = { readonly name: string; readonly bytes: number; readonly about: string }

/** The section of a version in the CHANGELOG, without its title. */
function sectionOf(version: string): string {
  const changes = readFileSync(join(import.meta.dirname, '../CHANGELOG.md'), 'utf8')
  const section = changes.split(/^## /m).find((one) => one.startsWith(`${version} (`))
  if (section === undefined) throw new Error(`the CHANGELOG has no section ${version}`)
  return section
    .slice(section.indexOf('\n'))
    .trim()
    .replaceAll(/^#(#+ )/gm, '$1')
}

/** The notes of a release: its section of the CHANGELOG, and its files. */
export const notesOf = (version: string, date: string, files: readonly ReleasedFile[]): string =>
  `# Gatehouse ${version} (${date})

Links lead to files of the repository. The package for npm has them too.

${sectionOf(version)}

## Files

| file | bytes | |
|---|---|---|
${files.map(({ name, bytes, about }) => `| \`${name}\` | ${bytes.toLocaleString('en')} | ${about} |\n`).join('')}
`
    .trimEnd()
    .concat('\n')
