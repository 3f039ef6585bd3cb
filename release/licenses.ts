import { writeFileSync } from 'node:fs'
import { billOfPackages } from './components.ts'
import { licensedPackages, licenseTexts, refusedLicenses } from './package-licenses.ts'

/**
 * `npm run licenses -- [FILE]` lists the licence of each package in a release, and fails if one is not allowed.
 * `FILE` gets the texts, which must accompany a release. docs/deployment.md#bill-of-materials-and-licences
 */
const packages = licensedPackages(billOfPackages())
for (const { title, license } of packages) process.stdout.write(`${title} ${license}\n`)
const [file] = process.argv.slice(2)
if (file !== undefined) writeFileSync(file, licenseTexts(packages))
const refused = refusedLicenses(packages)
for (const problem of refused) process.stderr.write(`${problem}\n`)
process.exitCode = refused.length === 0 ? 0 : 1
