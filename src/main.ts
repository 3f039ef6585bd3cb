import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const minNodeVersion = 24

if (Number.parseInt(process.versions.node, 10) < minNodeVersion) {
  process.stderr.write(`Node ${minNodeVersion} or later is required, this is v${process.versions.node}\n`)
  process.exitCode = 2
} else {
  // install handlers first: process 1 of a container receives only signals that it handles
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())

  // Caches compiled code for the next start, also for the writing thread. The cache is in node_modules,
  // because other users could change it in a shared temporary folder. If node_modules is read-only, nothing
  // is cached.
  const { directory } = enableCompileCache(
    fileURLToPath(new URL('../node_modules/.cache/gatehouse', import.meta.url)),
  )
  if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] ??= directory

  const { run } = await import('./run.ts')
  await run(process.argv.slice(2), process.env, stopping)
}
