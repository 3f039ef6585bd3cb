import { parseArgs } from 'node:util'
import { exitOnSignals } from '../simulators/exit.ts'
import { noSimulatedDisk } from '../test/support/disk/simulated-disk.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { runCrashRounds } from './crash-rounds.ts'

/**
 * `npm run crash -- --rounds 50`: kills the server (SIGKILL) during logins over 32 connections, restarts it,
 * and looks up every issued token. `lost` tokens no longer work. `doubled` tokens were issued twice, or their
 * subject has a second entity. Meanwhile tokens and leases are created, renewed and revoked, roles, users, mounts and
 * groups are made, changed and removed, and secrets written,
 * deleted and copied; `disagreeing` are those whose state in the store or at the provider contradicts the
 * response.
 *
 * With `--power` the disk loses power too: writes since the last sync are lost, or torn into sectors of 512
 * bytes. In every fourth round a sync also fails; `returned` are writes that were refused then and exist
 * after the kill.
 *
 * With `--point storage.before-commit` (or `storage.after-commit`, `storage.checkpoint`) the server kills itself
 * there.
 *
 * With `--storage postgres://…` the server keeps its data in that database, which must be empty.
 *
 * A round without an acknowledged write is not counted. Exits with code 1 if there is a problem, and with
 * code 2 where it cannot run.
 */
const options = {
  rounds: { type: 'string', default: '20' },
  power: { type: 'boolean', default: false },
  point: { type: 'string' },
  storage: { type: 'string' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
} as const
const { values } = parseArgs({ options })

const points = ['storage.before-commit', 'storage.after-commit', 'storage.checkpoint'] as const
const point = points.find((name) => name === values.point)

exitOnSignals()
process.exitCode =
  values.power && noSimulatedDisk !== undefined
    ? cannotRun(`cannot cut the power: ${noSimulatedDisk}`)
    : values.point !== undefined && (point === undefined || values.power)
      ? cannotRun(`--point, without --power, is one of ${points.join(', ')}`)
      : values.storage !== undefined && (values.power || point !== undefined)
        ? cannotRun('--storage goes with neither --power nor --point: they need the storage of one server')
        : await run()

function cannotRun(reason: string): number {
  process.stderr.write(`${reason}\n`)
  return 2
}

async function run(): Promise<number> {
  await using folder = await makeBenchFolder()
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  say(`seed ${values.seed}`)
  const counts = await runCrashRounds({
    rounds: Number(values.rounds),
    folder: folder.path,
    power: values.power,
    point,
    storage: values.storage,
    seed: Number(values.seed),
    say,
  })
  say(
    `${counts.lives} tokens with two leases each, ${counts.secrets} changes of secrets and ${counts.settings} of roles, users, mounts and groups, ${counts.disagreeing} disagreeing; ${counts.idle} rounds not counted`,
  )
  if (values.power) say(`${counts.refused} refused, ${counts.returned} returned`)
  say(
    `${counts.rounds} rounds, ${counts.acknowledged} acknowledged, ${counts.lost} lost, ${counts.doubled} doubled`,
  )
  return counts.lost + counts.doubled + counts.disagreeing + counts.returned > 0 ? 1 : 0
}
