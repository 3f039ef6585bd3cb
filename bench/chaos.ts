import { parseArgs } from 'node:util'
import { exitOnSignals } from '../simulators/exit.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { runChaos } from './chaos-run.ts'

/**
 * `npm run chaos -- --operations 2000 --seed 1`: random operations of the cloud engine against a slow and
 * faulty stand-in, while the server is killed again and again. Prints the operations and the problems in the
 * final state; exits with code 1 if there is a problem.
 */
const { values } = parseArgs({
  options: { operations: { type: 'string', default: '2000' }, seed: { type: 'string', default: '1' } },
})

exitOnSignals()
await using folder = await makeBenchFolder()
const begun = performance.now()
const { problems, counts } = await runChaos({
  operations: Number(values.operations),
  seed: Number(values.seed),
  folder: folder.path,
  say: (line) => process.stdout.write(`${line}\n`),
})
process.stdout.write(
  `seed ${values.seed}: ${values.operations} operations in ${Math.round((performance.now() - begun) / 1000)} s, ${JSON.stringify(counts)}\n`,
)
for (const problem of problems) process.stdout.write(`${problem}\n`)
process.stdout.write(`${problems.length} problems\n`)
process.exitCode = problems.length > 0 ? 1 : 0
