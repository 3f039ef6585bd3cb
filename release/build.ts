import { rm } from 'node:fs/promises'
import { bundle } from './bundle.ts'
import { product } from './product.ts'
import { buildUi } from './ui.ts'

/** `npm run build`: the bundle that the package has, the web UI, and nothing else in their folder. */
await rm(product.folder, { recursive: true, force: true })
await bundle(product)
await buildUi()
