import { billOfMaterials, billOfPackages } from './components.ts'

/** `npm run -s sbom > gatehouse.cdx.json` prints the bill of materials of a release, in the form of CycloneDX. */
process.stdout.write(billOfMaterials(billOfPackages()))
