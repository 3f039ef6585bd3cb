import { type Command, parsedArguments } from './command.ts'
import { pathsOf, sectionsOf, serverOf } from './import/arguments.ts'
import { importServer } from './import/import-server.ts'
import type { RemoteServer } from './import/remote-server.ts'
import { ImportReport, type Item, staying } from './import/report.ts'

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const

/** Names and versions, never values. */
type Difference = Item & { readonly difference: string }

/**
 * `gatehouse verify --against URL --against-token-file FILE --to URL --to-token-file FILE` reads two running servers, and lists how
 * Gatehouse (`--to`) differs from the other one. Exit codes: 0 no difference, 1 differences, 2 usage, 3 a server
 * cannot be reached or rejects its token. docs/import.md#compare-two-servers
 */
export const verifyAgainst: Command = async (args) => {
  const servers = { against: text, 'against-token-file': text, to: text, 'to-token-file': text }
  const { values } = parsedArguments({ args, options: { ...servers, only: text, except: text, json: flag } })
  const theirs = await serverOf('--against', values.against, values['against-token-file'])
  const ours = await serverOf('--to', values.to, values['to-token-file'])
  const only = sectionsOf(values.only)
  const except = pathsOf(values.except)
  await theirs.check()
  await ours.check()
  /** The findings of a dry run. */
  const compare = async (from: RemoteServer, to: RemoteServer): Promise<ImportReport> => {
    const report = new ImportReport()
    const how = { isDryRun: true, isUpdate: false, everyVersion: true, except, progress: () => {} }
    await importServer({ ...how, from, to, report }, only)
    return report
  }
  const forth = await compare(theirs, ours)
  const back = await compare(ours, theirs)
  const differences = [...ofTheirs(forth), ...onlyOurs(back)]
  const same = forth.objects.existed.filter(({ note }) => note === undefined).length
  process.stdout.write(
    values.json ? `${JSON.stringify({ same, differences }, null, 1)}\n` : textOf(same, differences),
  )
  if (differences.length > 0) process.exitCode = 1
}

function ofTheirs({ objects: { imported, existed, failed } }: ImportReport): Difference[] {
  return [
    ...imported.map(({ kind, namespace, path }) => ({ kind, namespace, path, difference: 'missing here' })),
    ...existed.flatMap(({ note, ...item }) =>
      note === undefined ? [] : [{ ...item, difference: note.replace(staying, '') }],
    ),
    ...failed.map(({ reason, ...item }) => ({ ...item, difference: reason })),
  ]
}

/** A mount in which nothing is, such as those that a new Gatehouse has, is no difference. */
function onlyOurs({ objects: { imported } }: ImportReport): Difference[] {
  const isUsed = (mount: Item) =>
    imported.some(
      ({ namespace, path }) =>
        namespace === mount.namespace && path !== mount.path && path.startsWith(mount.path),
    )
  return imported
    .filter((item) => !item.kind.endsWith('_mount') || isUsed(item))
    .map(({ kind, namespace, path }) => ({ kind, namespace, path, difference: 'only here' }))
}

function textOf(same: number, differences: readonly Difference[]): string {
  const lines = differences.map(
    ({ kind, namespace, path, difference }) =>
      `${kind} ${JSON.stringify(namespace + path).slice(1, -1)}: ${difference}\n`,
  )
  return `${lines.join('')}${same} the same, ${differences.length} differ\n`
}
