import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { startCluster } from '../../../simulators/cluster/cluster.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { exitOnSignals, makeTemporaryFolder } from '../../../simulators/exit.ts'
import { startServerProcess } from '../../../simulators/server-process.ts'
import { cloudEnvironment } from '../../../simulators/tour/credentials.ts'
import { driverEnvironment } from './environment.ts'
import {
  type ClientRows,
  clientsOf,
  conformancePage,
  type Row,
  rowsPage,
  summaryOf,
  verdictOf,
} from './page.ts'
import { startRecorder } from './recorder.ts'
import { type Command, cache, project, type Suite, suites, versionOf } from './suites.ts'

/**
 * `npm run conformance [-- NAME…]`: runs all clients, or some of them, and writes a summary to docs/conformance.md
 * and each operation to out/conformance.md.
 */
exitOnSignals()
await mkdir(cache, { recursive: true })
const names = process.argv.slice(2)
const chosen = suites.filter(({ client }) => names.length === 0 || names.includes(client))
if (chosen.length < Math.max(1, names.length)) {
  process.stderr.write(`usage: npm run conformance [-- NAME…], with ${suites.map(quotedName).join(', ')}\n`)
  process.exit(2)
}
const pageFile = join(project, 'docs/conformance.md')
const known = clientsOf(await readFile(pageFile, 'utf8'))
const results: ClientRows[] = []
for (const suite of chosen) if (await isPossible(suite)) results.push(await resultsOf(suite))

const summaries = [...results.map(summaryOf), ...known]
const shown = suites.map(({ client }) => summaries.find((one) => one.client === client))
await writeFile(pageFile, conformancePage(shown.filter((one) => one !== undefined)))
await mkdir(join(project, 'out'), { recursive: true })
await writeFile(join(project, 'out/conformance.md'), rowsPage(results))

async function resultsOf(suite: Suite): Promise<ClientRows> {
  process.stderr.write(`${suite.client}\n`)
  for (const command of suite.install) await run(command)
  return { client: suite.client, version: await versionOf(suite), rows: await rowsOf(suite) }
}

/** Whether the programs that no registry has are on this machine. */
async function isPossible({ client, needs }: Suite): Promise<boolean> {
  if (needs === undefined) return true
  const [error] = await once(spawn(needs, ['-version'], { stdio: 'ignore' }), 'exit').catch((cause) => [
    cause,
  ])
  if (error === 0) return true
  process.stderr.write(`${client}: not run, its row stays: there is no program ${needs}\n`)
  return false
}

function quotedName({ client }: Suite): string {
  return JSON.stringify(client)
}

/** Runs a client against a new server. Throws if its program fails. */
async function rowsOf(suite: Suite): Promise<Row[]> {
  // hvac's tests put audit logs into the system's temporary folder, where a server may then keep nothing else
  await using folder = await makeTemporaryFolder(cache, 'servers-')
  if (suite.startsServers === true) return rowsIn(await run(suite.run, serverProgram(folder.path)))
  await using directory = await startDirectory()
  await using cluster = await startCluster()
  const audit = join(folder.path, 'audit')
  await mkdir(audit)
  await using server = await startServerProcess({
    folder: folder.path,
    environment: { ...cloudEnvironment(directory), GATEHOUSE_AUDIT_DIRS: audit },
  })
  await using recorder = await startRecorder(server.url)
  const rootToken = server.rootToken
  const auditFile = join(audit, 'audit.log')
  const printed = await run(
    suite.run,
    await driverEnvironment({ recorder, rootToken, directory, cluster, auditFile }),
  )
  return rowsIn(printed, recorder.requestsOf)
}

/** For a suite that starts servers itself. */
function serverProgram(folder: string): Record<string, string> {
  return {
    PATH: [join(project, 'test/clients/suites/hvac-tests/bin'), process.env['PATH']].join(delimiter),
    GATEHOUSE_PROJECT: project,
    GATEHOUSE_FOLDERS: folder,
  }
}

/** Returns what the program prints; its errors go to standard error. */
async function run(
  { folder, program, args, environment }: Command,
  more: Record<string, string> = {},
): Promise<string> {
  const inCache = (part: string) => part.replaceAll('{cache}', cache)
  const child = spawn(inCache(program), args.map(inCache), {
    cwd: join(project, folder),
    env: { ...process.env, ...environment, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`)
  return printed
}

function rowsIn(printed: string, requestsOf: (operation: string) => readonly string[] = () => []): Row[] {
  // hashi-vault-js prints some errors itself
  const lines = printed.split('\n').filter((line) => line.startsWith('{"'))
  return lines.map((line) => {
    const { operation, error, verdict } = JSON.parse(line) as {
      operation: string
      error?: string
      verdict?: Row['verdict']
    }
    const judged = verdictOf(error)
    return {
      operation,
      requests: requestsOf(operation),
      ...judged,
      ...(verdict === undefined ? {} : { verdict }),
    }
  })
}
