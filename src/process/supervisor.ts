import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { listenAddresses, tlsSettings, workerCount } from '../config/connections.ts'
import type { Config } from '../config/settings.ts'
import { StartError } from '../errors.ts'
import { publicUrl } from '../http/wire/listen-address.ts'
import { startMetricsListener } from '../http/wire/metrics-listener.ts'
import { SharedAddresses } from '../http/wire/shared-addresses.ts'
import { droppedLines, type Log } from '../log/log.ts'
import { type MetricFamily, merged, ofProcess } from '../metrics/metric-families.ts'
import { shownFamilies } from '../metrics/shown-metrics.ts'
import { supervisorMetrics } from '../metrics/supervisor-metrics.ts'
import { bound } from '../server/server-listeners.ts'
import { exitCodes } from './exit.ts'
import { WorkerProcess } from './worker-process.ts'
import type { StartFailure } from './worker-questions.ts'

/** Time that this process needs to end after the workers were killed. */
const endMs = 100

/**
 * Processes that serve requests at the same addresses, each as a replica of its own. This process serves no
 * requests except those for metrics. docs/replicas.md#worker-processes
 */
class Supervisor {
  #config: Config
  readonly #log: Log
  readonly #addresses: SharedAddresses
  readonly #workers: WorkerProcess[] = []
  readonly #ownMetrics = supervisorMetrics(
    () => this.#workers,
    () => droppedLines(this.#log),
  )
  readonly #firstServes = Promise.withResolvers<void>()
  readonly #failure = Promise.withResolvers<never>()
  #isServed = false
  #isStopping = false

  constructor(config: Config, log: Log, addresses: SharedAddresses) {
    this.#config = config
    this.#log = log
    this.#addresses = addresses
    // also when nobody waits for it
    this.#failure.promise.catch(() => {})
  }

  get urls(): readonly string[] {
    return this.#addresses.urls
  }

  /** Rejects with a StartError if a worker cannot start. */
  get failed(): Promise<never> {
    return this.#failure.promise
  }

  /** Starts the first worker, which may have to create the store, and the others once it serves requests. */
  async start(): Promise<void> {
    this.#startWorker(1)
    await Promise.race([this.#firstServes.promise, this.failed])
    if (this.#isStopping) return
    for (let number = 2; number <= workerCount(this.#config); number++) this.#startWorker(number)
  }

  /** Lets all workers finish their requests, and kills those that need too long. Resolves with the exit code. */
  async stop(): Promise<number> {
    this.#isStopping = true
    // from now on only the workers listen
    this.#addresses.release()
    const { drainDelayMs, stopTimeoutMs } = this.#config
    const ended = Promise.all(this.#workers.map((worker) => worker.stop()))
    const limit = pause(Math.max(0, drainDelayMs + stopTimeoutMs - endMs), 'limit' as const, { ref: false })
    const codes = await Promise.race([ended, limit])
    if (codes !== 'limit') return Math.max(0, ...codes)
    this.signal('SIGKILL')
    await ended
    const text = 'requests were still running after GATEHOUSE_STOP_TIMEOUT'
    this.#log.error({ event: 'workers_killed' }, text)
    return exitCodes.stopTimeout
  }

  /** Workers that start later get these settings too. */
  reload(config: Config): void {
    this.#config = config
    for (const { channel } of this.#workers) channel?.tell('reload', config)
  }

  signal(name: NodeJS.Signals): void {
    for (const worker of this.#workers) worker.signal(name)
  }

  /** Of all processes; one that does not answer in time is missing. */
  async metrics(): Promise<readonly MetricFamily[]> {
    const own = await this.#ownMetrics()
    const found = await Promise.all(
      this.#workers.map(async ({ name, channel }) =>
        ofProcess(name, (await channel?.ask('metrics').catch(() => undefined)) ?? []),
      ),
    )
    return merged([ofProcess(this.#name, own), ...found])
  }

  /** `ready` if a worker is, else the reason of the first one. */
  async readiness(): Promise<string> {
    const states = await Promise.all(
      this.#workers.map(({ channel }) => channel?.ask('readiness').catch(() => undefined)),
    )
    return (
      states.find((state) => state === 'ready') ?? states.find((state) => state !== undefined) ?? 'starting'
    )
  }

  get #name(): string {
    return this.#config.replicaName ?? hostname()
  }

  #startWorker(number: number): void {
    const name = `${this.#name}-${number}`
    const worker = new WorkerProcess({
      name,
      log: this.#log,
      orders: () => ({
        config: workerConfig(this.#config, { name, number, url: publicUrl(this.urls) }),
        urls: this.urls,
        doors: this.#addresses.doors,
        isFirst: !this.#isServed,
      }),
      answers: {
        metrics: () => this.metrics(),
        opened: () => {
          for (const { channel, name: other } of this.#workers) if (other !== name) channel?.tell('open')
        },
      },
      onServing: () => {
        this.#isServed = true
        this.#firstServes.resolve()
      },
      onFailed: ({ exitCode, message }: StartFailure) => {
        this.#failure.reject(new StartError(exitCode, message))
      },
    })
    this.#workers.push(worker)
    worker.start()
  }
}

/** The settings of a worker: limits of the server are divided among its workers. */
function workerConfig(
  config: Config,
  { name, number, url }: { name: string; number: number; url: string },
): Config {
  const processes = workerCount(config)
  const part = (limit: number) => Math.ceil(limit / processes)
  return {
    ...config,
    replicaName: name,
    worker: number,
    processes,
    apiAddr: config.apiAddr ?? url,
    maxConnections: part(config.maxConnections),
    maxInFlight: part(config.maxInFlight),
    maxBuffered: part(config.maxBuffered),
  }
}

/** Binds the addresses. Throws a StartError. */
export async function openSupervisor(config: Config, log: Log) {
  if (!SharedAddresses.isPossible)
    throw new StartError(
      exitCodes.setting,
      `GATEHOUSE_WORKERS: several processes need Node 26.4 or later, this is ${process.version}`,
    )
  await using opened = new AsyncDisposableStack()
  const addresses = await bound(
    'LISTEN',
    SharedAddresses.bind(listenAddresses(config), tlsSettings(config) === undefined ? 'http' : 'https'),
  )
  const supervisor = new Supervisor(config, log, opened.use(addresses))
  const { metricsListen } = config
  if (metricsListen !== undefined) {
    const { text } = shownFamilies(() => supervisor.metrics())
    const parts = { ...metricsListen, metrics: text, readiness: () => supervisor.readiness() }
    opened.use(await bound('METRICS_LISTEN', startMetricsListener(parts)))
  }
  const held = opened.move()
  return { supervisor, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
