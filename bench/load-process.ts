import { type LoadJob, runLoad } from './load.ts'

/** The load generator as a process of its own, so that the measured server shares no thread with it: a job a message, a result a message. */
process.on('message', (job: LoadJob) => {
  void runLoad(job).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit())
