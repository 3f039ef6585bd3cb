import type { Bill, Component } from './components.ts'

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
    'Unlicense',
  ],
  ...['LGPL-3.0', 'LGPL-3.0+', 'LGPL-3.0-only', 'LGPL-3.0-or-later'],
])

/** A package with the names and the texts of its licences. */
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

export const licensedPackages = ({ components }: Bill): readonly Licensed[] => components.map(licensed)

/** What is wrong with the licences of packages, one line each. */
export const refusedLicenses = (packages: readonly Licensed[]): readonly string[] =>
  packages
    .filter(({ license }) => !allowed.has(license))
    .map(({ title, license }) => `${title}: the licence ${license} is not allowed`)

const line = '='.repeat(80)

/** The texts, which must accompany a release. */
export const licenseTexts = (packages: readonly Licensed[]): string =>
  packages
    .map(({ title, license, texts }) => `${[`${title} (${license})`, ...texts].join('\n\n')}\n\n${line}\n`)
    .join('\n')
