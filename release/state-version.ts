import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/**
 * `npm version minor --no-git-tag-version` raises the version in package.json, and runs this: it dates the version, begins
 * its section of the CHANGELOG, and writes it where it cannot be derived. CONTRIBUTING.md#versions
 */
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const date = new Date().toISOString().slice(0, 10)
replace('package.json', /(?<="date": ").*(?=")/, date)
replace('CHANGELOG.md', /(?=^## )/m, `## ${version} (${date})\n\n`)
replace('deploy/helm/gatehouse/Chart.yaml', /(?<=^(?:app)?version: ).*/gim, version)
replace('deploy/kubernetes/kustomization.yaml', /(?<=newTag: ).*/, version)

function replace(file: string, place: RegExp, text: string): void {
  const path = join(root, file)
  writeFileSync(path, readFileSync(path, 'utf8').replace(place, text))
}
