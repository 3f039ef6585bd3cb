import { parseArgs } from 'node:util'
import type { BenchCase, Requests } from './bench-case.ts'
import { startGenerator } from './generator.ts'
import { measureCase } from './measure.ts'
import { startProgram } from './program.ts'
import { renderTable } from './table.ts'

/**
 * Measures the cost of accepting any HTTP method: a server without any work, with and without the feed
 * between socket and parser, in turns. `node bench/list-verb.ts [--seconds 3] [--rounds 5]`. Figures are in
 * docs/decisions/0001-list-verb.md.
 */
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, rounds: { type: 'string', default: '5' } },
})
const options = {
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  freshSubjects: 0,
  connections: [32],
}

const requests = (method: string, body?: string): Requests => ({
  method,
  path: '/v1/auth/token/lookup-self',
  variants: [body === undefined ? {} : { body }],
})
const get = requests('GET')
const post = requests('POST', JSON.stringify({ role: 'ci', jwt: 'x'.repeat(900) }))
const cases: BenchCase[] = [
  { name: 'GET', connections: 32, ours: get, against: { contender: 'bare', requests: get } },
  { name: 'POST', connections: 32, ours: post, against: { contender: 'bare', requests: post } },
  {
    name: 'LIST against GET',
    connections: 32,
    ours: requests('LIST'),
    against: { contender: 'bare', requests: get },
  },
]

await using cleanup = new AsyncDisposableStack()
// wrk does not support LIST
const wrkOrOwn = cleanup.use(startGenerator(undefined))
const own = cleanup.use(startGenerator('own'))
const gatehouse = cleanup.use(await startProgram('hello.ts', ['--any-verb']))
const bare = cleanup.use(await startProgram('hello.ts'))
const measured = []
for (const one of cases) {
  measured.push(
    await measureCase(one, { gatehouse, bare }, one.ours.method === 'LIST' ? own : wrkOrOwn, options),
  )
}
const cost = measured.map(({ case: { name }, ours, theirs }) => {
  const micros = (ours.cpuMicrosPerRequest ?? Number.NaN) - (theirs.cpuMicrosPerRequest ?? Number.NaN)
  return `${name}: ${micros.toFixed(1)} µs CPU a request more`
})
process.stdout.write(
  `load by ${wrkOrOwn.name}, ${options.rounds} × ${options.seconds} s, node ${process.version}\n${renderTable(measured)}\n${cost.join('\n')}\n`,
)
