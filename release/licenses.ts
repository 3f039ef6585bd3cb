import { writeFileSync } from 'node:fs'
import { billOfPackages, type Component } from './components.ts'

/**
 * Licences under which a package may be in a release that is itself under MPL-2.0. LGPL: openpgp is replaceable,
 * because everyone can build the release from its sources.
 */
const allowed = new Set([
  ...[
    '0BSD',
    'Apache-2.0',
    'BlueOak-1.0.0',
    'BSD-2-Clause',
    'BSD-3-Clause',
    'CC0-1.0',
    'ISC',
    'MIT',
    'MPL-2.0',
  ],
  ...['LGPL-3.0', 'LGPL-3.0+', 'LGPL-3.0-only', 'LGPL-3.0-or-later'],
])

type Licensed = { readonly title: string; readonly license: string; readonly texts: readonly string[] }

function licensed({ group, name, version, licenses = [], evidence }: Component): Licensed {
  const names = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name)
  const texts = (evidence?.licenses ?? []).map(({ license }) => license?.text?.content ?? '')
  return {
    title: `${group === undefined ? '' : `${group}/`}${name}@${version}`,
    license: names.join(' AND ') || 'unknown',
    texts: texts.filter((text) => text !== '').map((text) => Buffer.from(text, 'base64').toString()),
  }
}

/**
 * `npm run licenses -- [FILE]` lists the licence of each package in a release, and fails if one is not allowed.
 * `FILE` gets the texts, which must accompany a release. docs/deployment.md#bill-of-materials-and-licences
 */
const packages = billOfPackages().components.map(licensed)
for (const { title, license } of packages) process.stdout.write(`${title} ${license}\n`)
const [file] = process.argv.slice(2)
const line = '='.repeat(80)
if (file !== undefined)
  writeFileSync(
    file,
    packages
      .map(({ title, license, texts }) => `${[`${title} (${license})`, ...texts].join('\n\n')}\n\n${line}\n`)
      .join('\n'),
  )
const refused = packages.filter(({ license }) => !allowed.has(license))
for (const { title, license } of refused)
  process.stderr.write(`${title}: the licence ${license} is not allowed\n`)
process.exitCode = refused.length === 0 ? 0 : 1
