import { availableParallelism } from 'node:os'
import type { Config } from '../config/config.ts'

/** The number of processes that serve requests. */
export const workerCount = ({ workers }: Pick<Config, 'workers'>): number =>
  workers === 'auto' ? availableParallelism() : workers
