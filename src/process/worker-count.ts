import { availableParallelism } from 'node:os'
import type { Config } from '../config/settings.ts'

/** The number of processes that serve requests. */
export const workerCount = ({ workers }: Pick<Config, 'workers'>): number =>
  workers === 'auto' ? availableParallelism() : workers
