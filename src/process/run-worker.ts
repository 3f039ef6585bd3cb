import { StartError } from '../errors.ts'
import { Channel } from '../lib/concurrency/channel.ts'
import { untilAborted } from '../lib/concurrency/wait.ts'
import { systemRandom } from '../lib/system/random.ts'
import { changeLogLevel, type Log, openLog } from '../log/log.ts'
import { ofProcess } from '../metrics/metric-families.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { shownFamilies } from '../metrics/shown-metrics.ts'
import type { Server } from '../server/server.ts'
import { exitCodes, exitNow, limitStop, logProcessWarnings } from './exit.ts'
import { rootTokenTeller } from './root-token-teller.ts'
import type { Orders, StartFailure, SupervisorAnswers, WorkerAnswers } from './worker-questions.ts'

/** Longer than the supervisor may take to ask the other workers. */
const answerMs = 4000

/** Serves requests until the supervisor stops this process or is gone, and exits the process. */
export async function runWorker(): Promise<void> {
  let server: Server | undefined
  const stopping = new AbortController()
  const supervisor = new Channel<SupervisorAnswers>(
    process,
    {
      stop: () => stopping.abort(),
      reload: (settings) => {
        if (server === undefined) return
        changeLogLevel(log, settings.logLevel)
        void server.reload(settings)
      },
      open: async () => await server?.open(),
      metrics: async () => (await server?.metrics()) ?? [],
      readiness: async () => (await server?.readiness()) ?? 'starting',
    } satisfies WorkerAnswers,
    answerMs,
  )
  const orders = await supervisor.ask('orders')
  const { config } = orders
  const log = await openLog(config)
  logProcessWarnings(log)
  process.on('SIGCONT', () => systemRandom.discard())
  // nobody would limit the time that requests take
  process.once('disconnect', () => {
    limitStop(config.stopTimeoutMs, log)
    stopping.abort()
  })
  try {
    server = await startWorkerServer(orders, { log, stopping: stopping.signal }, supervisor)
    supervisor.tell('serving')
    log.info({ event: 'worker_started', pid: process.pid }, 'this process serves requests')
    await untilAborted(stopping.signal)
    await server.drain(process.connected ? config.drainDelayMs : 0)
    await server[Symbol.asyncDispose]()
  } catch (error) {
    process.exitCode = error instanceof StartError ? error.exitCode : exitCodes.bug
    if (stopping.signal.aborted && error instanceof Error && error.name === 'AbortError') process.exitCode = 0
    else if (error instanceof StartError) await supervisor.ask('failed', failureOf(error)).catch(() => {})
    else log.fatal({ event: 'stopped', exit_code: exitCodes.bug, err: error }, 'the worker failed')
  }
  await exitNow(log)
}

async function startWorkerServer(
  { config, ...shared }: Orders,
  parts: { readonly log: Log; readonly stopping: AbortSignal },
  supervisor: Channel<SupervisorAnswers>,
): Promise<Server> {
  const { startServer } = await import('../server/server.ts')
  const worker = {
    ...shared,
    metricsOfAll: (own: Metrics) =>
      shownFamilies(() =>
        supervisor
          .ask('metrics')
          .catch(async () => ofProcess(config.replicaName ?? '', await own.families())),
      ),
    opened: () => supervisor.tell('opened'),
  }
  return await startServer(config, { ...parts, rootToken: rootTokenTeller(config), worker })
}

/** As data that another process can read. */
const failureOf = ({ exitCode, message }: StartError): StartFailure => ({ exitCode, message })
