import { spawnSync } from 'node:child_process'

type Stage = { readonly name: string; readonly finds: string; readonly command: string }

const staticStages: readonly Stage[] = [
  {
    name: 'format',
    finds: 'the format of all files, the order of imports',
    command: 'biome check --linter-enabled=false --enforce-assist=true',
  },
  { name: 'lint', finds: 'lint rules, import cycles', command: 'biome lint --error-on-warnings' },
  { name: 'types', finds: 'types', command: 'tsc --noEmit && tsc -p ui' },
  { name: 'unused', finds: 'files, exports and packages that nothing uses', command: 'knip' },
  { name: 'test-only', finds: 'exports that only tests use', command: 'knip --production' },
  { name: 'docs', finds: 'citations, links, who imports what', command: 'vitest run test/docs' },
]
const testStages: readonly Stage[] = [{ name: 'tests', finds: 'all tests', command: 'npm run -s test:all' }]

type Result = Stage & { readonly passed: boolean; readonly seconds: string }

/** The output of a stage is shown only if it fails, unless it is shown as it comes. */
function run(stage: Stage, output: 'if-failed' | 'as-it-comes'): Result {
  process.stdout.write(`${stage.name}: ${stage.finds} (${stage.command})\n`)
  const start = performance.now()
  const { status, stdout } = spawnSync(`${stage.command} 2>&1`, {
    shell: true,
    stdio: ['ignore', output === 'if-failed' ? 'pipe' : 'inherit', 'inherit'],
    maxBuffer: Number.POSITIVE_INFINITY,
  })
  if (status !== 0 && output === 'if-failed') process.stdout.write(stdout)
  return { ...stage, passed: status === 0, seconds: ((performance.now() - start) / 1000).toFixed(1) }
}

/**
 * `npm run static` runs the checks that start no server; `npm run check` runs the tests too, if those pass.
 * Each stage is named as it begins, and a summary ends it.
 */
const isStatic = process.argv.includes('--static')
const results = staticStages.map((stage) => run(stage, 'if-failed'))
const passed = results.every((result) => result.passed)
if (passed && !isStatic) results.push(...testStages.map((stage) => run(stage, 'as-it-comes')))

process.stdout.write('\n')
for (const { name, passed, seconds } of results)
  process.stdout.write(`${name} ${passed ? 'passed' : 'FAILED'} in ${seconds} s\n`)
if (!passed && !isStatic) process.stdout.write('tests did not run\n')
process.exitCode = results.every((result) => result.passed) ? 0 : 1
