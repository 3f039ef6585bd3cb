import { billOfPackages, nativeComponents } from './components.ts'

/**
 * `npm run -s sbom > gatehouse.cdx.json` prints the bill of materials of a release, in the form of CycloneDX:
 * packages, and what is compiled into Node.js and into the package of SQLite. docs/deployment.md#bill-of-materials-and-licences
 */
const { components, ...bill } = billOfPackages()
const packages = components.map(({ evidence: _, ...component }) => component)
process.stdout.write(
  `${JSON.stringify({ ...bill, components: [...packages, ...nativeComponents()] }, undefined, 1)}\n`,
)
