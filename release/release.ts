import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { checkPackage } from './check-package.ts'
import { billOfMaterials, billOfPackages } from './components.ts'
import { buildExecutables, type Target } from './executable.ts'
import { licensedPackages, licenseTexts, refusedLicenses } from './package-licenses.ts'
import { ownPlatform, platformsNamed } from './platforms.ts'

const root = join(import.meta.dirname, '..')

/**
 * `npm run release` puts into `out/` the product as one file for the platform of this machine, its licence and
 * those of its packages, its bill of materials, and the checksums of all these. `-- --platform
 * linux-arm64,win-x64`, or `all`: for other platforms. `--package` adds the package for `npx`, and tries it.
 * docs/deployment.md#the-executable
 */
const { values } = parseArgs({
  options: { platform: { type: 'string' }, package: { type: 'boolean', default: false } },
})
const folder = join(root, 'out')
const targets = targetsOf(values.platform)
const bill = billOfPackages()
const packages = licensedPackages(bill)
const refused = refusedLicenses(packages)
if (refused.length > 0) throw new Error(refused.join('\n'))
await rm(folder, { recursive: true, force: true })
await mkdir(folder)
await buildExecutables(targets)
await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'))
await writeFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), licenseTexts(packages))
await writeFile(join(folder, 'gatehouse.cdx.json'), billOfMaterials(bill))
if (values.package) await checkPackage(await pack())
const sums: string[] = []
for (const name of (await readdir(folder)).toSorted())
  sums.push(
    `${createHash('sha256')
      .update(await readFile(join(folder, name)))
      .digest('hex')}  ${name}\n`,
  )
await writeFile(join(folder, 'SHA256SUMS'), sums.join(''))
for (const { path } of targets) process.stdout.write(`${path}\n`)

async function pack(): Promise<string> {
  const args = ['pack', '--json', '--pack-destination', folder]
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root })
  // what its script prints comes first
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }]
  return join(folder, packed.filename)
}

function targetsOf(list: string | undefined): readonly Target[] {
  if (list === undefined)
    return [{ platform: ownPlatform, path: join(folder, `gatehouse${ownPlatform.suffix}`) }]
  return platformsNamed(list).map((platform) => ({
    platform,
    path: join(folder, `gatehouse-${platform.name}${platform.suffix}`),
  }))
}
