import { availableParallelism } from 'node:os'
import type { Config } from '../config/settings.ts'

export const workerCount = ({ workers }: Pick<Config, 'workers'>): number =>
  workers === 'auto' ? availableParallelism() : workers
