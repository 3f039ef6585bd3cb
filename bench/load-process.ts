import { type LoadJob, runLoad } from './load.ts'

/**
 * The load generator as a separate process, so that it shares no thread with the measured server. It takes
 * one job per message and sends one result per message.
 */
process.on('message', (job: LoadJob) => {
  void runLoad(job).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit())
