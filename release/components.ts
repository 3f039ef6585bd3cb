import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'

const tool = join(import.meta.dirname, '../node_modules/.cache/release-tools/node_modules/.bin/cyclonedx-npm')

type License = { readonly id?: string; readonly name?: string; readonly text?: { readonly content: string } }

/** The members of a component that are read here; CycloneDX has more. */
export type Component = {
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly licenses?: readonly { readonly license?: License; readonly expression?: string }[]
  readonly evidence?: { readonly licenses?: readonly { readonly license?: License }[] }
}

export type Bill = {
  readonly metadata: { readonly component: object }
  readonly components: readonly Component[]
}

/**
 * The packages that a release consists of, as a bill of materials in the form of CycloneDX, with the texts of
 * their licences. They are those in `node_modules` that are not for development.
 */
export function billOfPackages(): Bill {
  if (!existsSync(tool)) throw new Error('first install the tools: sh release/tools/install.sh')
  const output = execFileSync(
    process.execPath,
    [
      ...[tool, '--omit', 'dev', '--flatten-components', '--gather-license-texts', '--output-reproducible'],
      ...['--spec-version', '1.6', '--mc-type', 'application', '--output-format', 'JSON'],
    ],
    { maxBuffer: 2 ** 28, encoding: 'utf8' },
  )
  // the members that `Bill` names are required, or have the form that the schema of CycloneDX gives them
  return JSON.parse(output) as Bill
}

/**
 * The bill of materials of a release: packages, and what is compiled into Node.js and into the package of
 * SQLite. docs/deployment.md#bill-of-materials-and-licences
 */
export function billOfMaterials({ components, ...bill }: Bill): string {
  const packages = components.map(({ evidence: _, ...component }) => component)
  return `${JSON.stringify({ ...bill, components: [...packages, ...nativeComponents()] }, undefined, 1)}\n`
}

/** What Node.js and SQLite's package contain that is no package, under the names that scanners know. */
function nativeComponents(): object[] {
  const { node, openssl, v8, uv, zlib, nghttp2, llhttp, ares, brotli, zstd, icu, simdjson } = process.versions
  const inNode = {
    node,
    openssl,
    v8,
    libuv: uv,
    zlib,
    nghttp2,
    llhttp,
    'c-ares': ares,
    brotli,
    zstd,
    icu,
    simdjson,
  }
  const versions = Object.entries({ ...inNode, sqlite: sqliteVersion() })
  return versions.map(([name, version]) => ({
    type: name === 'node' ? 'platform' : 'library',
    name,
    version,
    'bom-ref': `native:${name}@${version}`,
    purl: `pkg:generic/${name}@${version}`,
  }))
}

function sqliteVersion(): string {
  const database = new Database(':memory:')
  try {
    return String(database.prepare('select sqlite_version()').pluck().get())
  } finally {
    database.close()
  }
}
