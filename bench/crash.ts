import { parseArgs } from 'node:util'
import { exitOnSignals } from '../simulators/exit.ts'
import { noSimulatedDisk } from '../test/support/disk/simulated-disk.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { runCrashRounds } from './crash-rounds.ts'

/**
 * `npm run crash -- --rounds 50`: kill -9 in the middle of logins over 32 connections, start again, and ask for every token that was
 * answered. `lost`: it does not work any more. `doubled`: it was given out twice, or its subject has got a second entity. Meanwhile tokens
 * and leases are made, renewed and revoked; `disagreeing`: one is there that was answered to have ended, or the other way round, or its
 * provider thinks otherwise. With `--power` the disk loses its power too: what was written since the last sync is gone, or torn into
 * sectors of 512 bytes; in every fourth round a sync fails, too, and `returned` are writes that were refused then and are there after
 * kill -9. A round without an acknowledged write does not count. Ends 1 if there is a problem, 2 where it cannot run.
 */
const options = {
  rounds: { type: 'string', default: '50' },
  power: { type: 'boolean', default: false },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
} as const
const { values } = parseArgs({ options })

exitOnSignals()
process.exitCode = values.power && noSimulatedDisk !== undefined ? cannotRun(noSimulatedDisk) : await run()

function cannotRun(reason: string): number {
  process.stderr.write(`cannot cut the power: ${reason}\n`)
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
    seed: Number(values.seed),
    say,
  })
  say(`${counts.lives} tokens with two leases each, ${counts.disagreeing} disagreeing; ${counts.idle} rounds that do not count`)
  if (values.power) say(`${counts.refused} refused, ${counts.returned} returned`)
  say(`${counts.rounds} rounds, ${counts.acknowledged} acknowledged, ${counts.lost} lost, ${counts.doubled} doubled`)
  return counts.lost + counts.doubled + counts.disagreeing + counts.returned > 0 ? 1 : 0
}
