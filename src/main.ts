import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const oldestNode = 24

if (Number.parseInt(process.versions.node, 10) < oldestNode) {
  process.stderr.write(`Node ${oldestNode} or later is needed, this is v${process.versions.node}\n`)
  process.exitCode = 2
} else {
  // install handlers at once: process 1 of a container receives only signals that it handles
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())

  // Caches the compiled sources for the next start, also for the writing thread. The folder is beside the
  // packages,
  // not in the shared temporary folder: users who can write there can change the program anyway. If it is
  // read-only,
  // nothing is cached.
  const { directory } = enableCompileCache(
    fileURLToPath(new URL('../node_modules/.cache/gatehouse', import.meta.url)),
  )
  if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] ??= directory

  const { run } = await import('./run.ts')
  await run(process.argv.slice(2), process.env, stopping)
}
