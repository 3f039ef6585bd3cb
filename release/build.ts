import { rm } from 'node:fs/promises'
import { bundle } from './bundle.ts'
import { product } from './product.ts'

/** `npm run build`: the bundle that the package has, and nothing else in its folder. */
await rm(product.folder, { recursive: true, force: true })
await bundle(product)
