import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const oldestNode = 24

if (Number.parseInt(process.versions.node, 10) < oldestNode) {
  process.stderr.write(`Node ${oldestNode} or later is needed, this is v${process.versions.node}\n`)
  process.exitCode = 2
} else {
  // Listened for at once: process 1 of a container gets no signals but those.
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())

  // The second start finds the stripped and compiled sources of the first, in the writing thread too. Beside the packages, not in the shared temporary folder:
  // who can write there can change the program anyway. A read-only folder is no harm.
  const { directory } = enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/gatehouse', import.meta.url)))
  if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] ??= directory

  const { run } = await import('./run.ts')
  await run(process.argv.slice(2), process.env, stopping)
}
