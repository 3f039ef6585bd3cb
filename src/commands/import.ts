import { systemCode, writePrivateFile } from '../lib/system/private-file.ts'
import { type Command, CommandError } from './command.ts'
import { readImportArguments } from './import/arguments.ts'
import { importServer } from './import/import-server.ts'
import { Passwords } from './import/passwords.ts'
import { planOf } from './import/plan.ts'
import { planText } from './import/plan-text.ts'
import type { RemoteServer } from './import/remote-server.ts'
import { ImportReport } from './import/report.ts'
import { watchUntilCutOver } from './import/watch.ts'

/**
 * `gatehouse import --from URL --from-token-file FILE --to URL --to-token-file FILE` copies a running Vault,
 * OpenBao or Gatehouse into a running Gatehouse, through both APIs; `--plan` only says what it would find. Exit
 * codes: 0 all imported, 1 something could not be, 2 usage, 3 a server cannot be reached or rejects its token, 130
 * or 143 interrupted. docs/import.md
 */
export const importCommand: Command = async (args) => {
  const given = await readImportArguments(args)
  await given.from.check()
  if (given.isPlan) return plan(given.from, given.isJson)
  await given.to.check()
  await run(given)
}

async function plan(from: RemoteServer, isJson: boolean): Promise<void> {
  const plan = await planOf(from)
  const { comes, stays, unread } = plan
  process.stdout.write(isJson ? `${JSON.stringify({ comes, stays, unread }, null, 1)}\n` : planText(plan))
  if (unread.length > 0) process.exitCode = 1
}

type Given = Extract<Awaited<ReturnType<typeof readImportArguments>>, { isPlan: false }>

async function run({ reportFile, isDryRun, isWatch, hasPasswords, ...given }: Given): Promise<void> {
  const progress = (text: string) => void process.stderr.write(`${text}\n`)
  const passwords = hasPasswords ? new Passwords() : undefined
  if (hasPasswords) progress('--passwords: reads the password hashes of users from sys/raw of the source')
  if (given.secretIds !== undefined)
    progress(`--secret-ids: registers ${given.secretIds.length} secret ids of the file on the target`)
  let report = new ImportReport()
  let left: object = {}
  const write = (complete: boolean) =>
    writeReport(reportFile, { dry_run: isDryRun, complete, ...left, ...report.toJSON() })
  // a file that cannot be written is told before the work
  if (reportFile !== undefined) write(false)
  const { only, ...parts } = given
  const pass = async (writes: boolean, told: (text: string) => void) => {
    const own = new ImportReport()
    if (writes || isDryRun) report = own
    const how = { isDryRun: !writes, report: own, progress: told }
    await importServer({ ...parts, ...how, ...(passwords && { passwords }) }, only)
    return own
  }
  const cutOver = new AbortController()
  onSignals(isWatch ? cutOver : undefined, () => {
    write(false)
    progress(report.summary())
  })
  let failure: unknown
  try {
    if (isWatch) {
      const quietly = (writes: boolean) => pass(writes, () => {})
      const how = { everySeconds: given.everySeconds, cutOver: cutOver.signal, pass: quietly, progress }
      const items = await watchUntilCutOver(how)
      left = { left: items }
      if (items.length > 0) process.exitCode = 1
    } else progress(`${isDryRun ? 'dry run: ' : ''}${(await pass(!isDryRun, progress)).summary()}`)
  } catch (error) {
    failure = error
    progress(report.summary())
  }
  // what was done before a server failed is reported too
  write(failure === undefined)
  if (failure !== undefined) throw failure
  if (report.counts.failed > 0) process.exitCode = 1
}

/** A first SIGINT cuts over, if something is watched; any other signal interrupts. */
function onSignals(cutOver: AbortController | undefined, interrupted: () => void): void {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.on(signal, () => {
      if (signal === 'SIGINT' && cutOver?.signal.aborted === false) return cutOver.abort()
      interrupted()
      process.exit(code)
    })
}

function writeReport(file: string | undefined, report: object): void {
  const text = `${JSON.stringify(report, null, 1)}\n`
  if (file === undefined) return void process.stdout.write(text)
  try {
    writePrivateFile(file, text)
  } catch (cause) {
    throw new CommandError(`cannot write ${file}: ${systemCode(cause)}`, { cause })
  }
}
