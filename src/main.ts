import { enableCompileCache } from 'node:module'

// the second start finds the stripped and compiled sources of the first; a read-only folder is no harm
enableCompileCache()

const { run } = await import('./run.ts')
await run(process.argv.slice(2), process.env)
