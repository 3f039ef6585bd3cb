import { readFile } from 'node:fs/promises'
import { systemCode, writePrivateFile } from '../lib/system/private-file.ts'
import { type Command, CommandError, parsedArguments, UsageError } from './command.ts'
import { importServer, isSection, type Section, sections } from './import/import-server.ts'
import { RemoteServer } from './import/remote-server.ts'
import { ImportReport } from './import/report.ts'

/**
 * `gatehouse import --from URL --from-token-file FILE --to URL --to-token-file FILE` copies a running Vault,
 * OpenBao or Gatehouse into a running Gatehouse, through both APIs. Exit codes: 0 all imported, 1 something
 * could not be, 2 usage, 3 a server cannot be reached or rejects its token, 130 or 143 interrupted. docs/import.md
 */
export const importCommand: Command = async (args) => {
  const { from, to, only, isDryRun, isUpdate, reportFile } = await readArguments(args)
  await from.check()
  await to.check()
  const report = new ImportReport()
  // a file that cannot be written is told before the work
  if (reportFile !== undefined) write(reportFile, { dry_run: isDryRun, complete: false, ...report.toJSON() })
  const progress = (text: string) => void process.stderr.write(`${text}\n`)
  const reported = (complete: boolean) => {
    write(reportFile, { dry_run: isDryRun, complete, ...report.toJSON() })
    progress(`${isDryRun ? 'dry run: ' : ''}${report.summary()}`)
  }
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.once(signal, () => {
      reported(false)
      process.exit(code)
    })
  let failure: unknown
  try {
    await importServer({ from, to, report, isDryRun, isUpdate, progress }, only)
  } catch (error) {
    failure = error
  }
  // what was done before a server failed is reported too
  reported(failure === undefined)
  if (failure !== undefined) throw failure
  if (report.counts.failed > 0) process.exitCode = 1
}

function write(file: string | undefined, report: object): void {
  const text = `${JSON.stringify(report, null, 1)}\n`
  if (file === undefined) return void process.stdout.write(text)
  try {
    writePrivateFile(file, text)
  } catch (cause) {
    throw new CommandError(`cannot write ${file}: ${systemCode(cause)}`, { cause })
  }
}

async function readArguments(args: string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const tokenFiles = { 'from-token-file': text, 'to-token-file': text }
  const flags = { 'dry-run': flag, update: flag }
  const options = { from: text, to: text, ...tokenFiles, only: text, report: text, ...flags }
  const { values } = parsedArguments({ args, options })
  const only = values.only?.split(',').map((name) => name.trim()) ?? sections
  const unknown = only.filter((name) => !isSection(name))
  if (unknown.length > 0) throw new UsageError(`--only: ${unknown.join()} is not one of ${sections.join()}`)
  return {
    from: await serverOf('--from', values.from, values['from-token-file']),
    to: await serverOf('--to', values.to, values['to-token-file']),
    only: new Set<Section>(only.filter(isSection)),
    isDryRun: values['dry-run'],
    isUpdate: values.update,
    reportFile: values.report,
  }
}

async function serverOf(name: string, address: string | undefined, file: string | undefined) {
  if (address === undefined || file === undefined) throw new UsageError()
  const url = URL.canParse(address) ? new URL(address) : undefined
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (url === undefined || !isHttp || url.username !== '' || url.password !== '')
    throw new UsageError(`${name}: not an http or https address`)
  const token = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`${name}-token-file: cannot read ${file}: ${systemCode(cause)}`, { cause })
  })
  if (!/^[\x21-\x7e]+$/.test(token.trim()))
    throw new UsageError(`${name}-token-file: ${file} does not hold one token`)
  return new RemoteServer(`${name} ${url.origin}`, url, token.trim())
}
