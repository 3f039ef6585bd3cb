import { cannotBundle, product } from './product.ts'

/** After `npm ci --omit=dev`, or on a read-only file system. */
const isUnavailable = (error: unknown) =>
  error instanceof Error &&
  'code' in error &&
  ['ERR_MODULE_NOT_FOUND', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(String(error.code))

// it runs in a process of its own, which returns the memory of the bundler: half a gigabyte
try {
  const { bundle } = await import('./bundle.ts')
  process.stderr.write(
    'The server and its web UI are built from the sources first, which takes some ten seconds …\n',
  )
  await bundle(product)
  const { buildUi } = await import('./ui.ts')
  await buildUi()
} catch (error) {
  if (!isUnavailable(error)) throw error
  process.exitCode = cannotBundle
}
