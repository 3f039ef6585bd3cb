import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import metadata from '../package.json' with { type: 'json' }
import { billOfMaterials, billOfPackages } from './components.ts'
import { buildExecutables } from './executable.ts'
import { imageArchive, processors } from './image/image.ts'
import { notesOf } from './notes.ts'
import { licensedPackages, licenseTexts, refusedLicenses } from './package-licenses.ts'
import { ownPlatform, platforms } from './platforms.ts'
import { tarOf } from './tar.ts'

const root = join(import.meta.dirname, '..')
const { version, date } = metadata

/**
 * `npm run release` puts a release into `out/`: the product as one file for each platform, as an image and as a package of
 * npm, the chart, licences, bill of materials, notes and checksums. `-- --executable`: only `gatehouse` for the platform of this
 * machine, with what must accompany it. `--out FOLDER`: into another folder. docs/deployment.md#a-release
 */
const { values } = parseArgs({
  options: { executable: { type: 'boolean', default: false }, out: { type: 'string' } },
})
const folder = values.out ?? join(root, 'out')
const place = (name: string) => join(folder, name)
/** A description of each file, by its name, in the order of the notes. */
const about = new Map<string, string>()
const named = (name: string, text: string) => {
  about.set(name, text)
  return place(name)
}

const bill = billOfPackages()
const packages = licensedPackages(bill)
const refused = refusedLicenses(packages)
if (refused.length > 0) throw new Error(refused.join('\n'))
// never what somebody else has put there
if (values.out === undefined) await rm(folder, { recursive: true, force: true })
await mkdir(folder)
if (values.executable) await ownExecutable()
else await wholeRelease()
await writeSums()

async function ownExecutable(): Promise<void> {
  const path = named(`gatehouse${ownPlatform.suffix}`, `for ${ownPlatform.name}`)
  await buildExecutables([{ platform: ownPlatform, path }])
  await writeDocuments()
}

async function wholeRelease(): Promise<void> {
  const executables = platforms.map((platform) => {
    const [mark, note] = platform.name.startsWith('linux-')
      ? ['', '']
      : ['-untested', ', untested: no test runs it']
    const file = `gatehouse-${version}-${platform.name}${mark}${platform.suffix}`
    return { platform, path: named(file, `one file that needs no Node, for ${platform.name}${note}`) }
  })
  await buildExecutables(executables)
  await writePackage(
    named(`gatehouse-${version}-npm.tgz`, 'the package for npm and `npx`, for Node 24.7 or later'),
  )
  const documents = await writeDocuments()
  const image = await imageArchive({
    ...{ version, made: `${date}T00:00:00Z`, documents },
    executables: executables.flatMap(({ platform, path }) =>
      Object.entries(processors)
        .filter(([name]) => name === platform.name)
        .map(([, processor]) => ({ processor, path })),
    ),
  })
  await writeFile(
    named(`gatehouse-${version}-oci.tar`, 'the image for linux/amd64 and linux/arm64, as an OCI layout'),
    image,
  )
  await writeFile(named(`gatehouse-${version}-chart.tgz`, 'the chart for Helm'), chart())
  const files = await Promise.all(
    [...about].map(async ([name, text]) => ({ name, bytes: (await stat(place(name))).size, about: text })),
  )
  await writeFile(named('RELEASE-NOTES.md', ''), notesOf(version, date, files))
}

/** The files that must accompany an executable. */
async function writeDocuments(): Promise<string[]> {
  const license = named('LICENSE', 'the licence')
  await copyFile(join(root, 'LICENSE'), license)
  const licenses = named('THIRD-PARTY-LICENSES.txt', 'the licences of all packages')
  await writeFile(licenses, licenseTexts(packages))
  const materials = named('gatehouse.cdx.json', 'the bill of materials, for scanners: CycloneDX 1.6')
  await writeFile(materials, billOfMaterials(bill))
  return [license, licenses, materials]
}

async function writePackage(path: string): Promise<void> {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: root,
  })
  // what its script prints comes first
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }]
  await rename(place(packed.filename), path)
}

function chart(): Buffer {
  const cwd = join(root, 'deploy/helm/gatehouse')
  const files = globSync('**/*.*', { cwd }).toSorted()
  return gzipSync(
    tarOf(
      files.map((file) => ({
        path: `gatehouse/${file}`,
        content: readFileSync(join(cwd, file)),
        mode: 0o644,
      })),
    ),
  )
}

async function writeSums(): Promise<void> {
  const lines: string[] = []
  for (const name of [...about.keys()].toSorted()) {
    const hash = createHash('sha256').update(await readFile(place(name)))
    lines.push(`${hash.digest('hex')}  ${name}\n`)
  }
  await writeFile(place('SHA256SUMS'), lines.join(''))
}
