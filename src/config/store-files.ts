import { relative } from 'node:path'
import { placeOf, realPathOf } from '../lib/system/real-path.ts'
import type { Config } from './settings.ts'

/**
 * Whether `path` is a database file or a seal key file, by whichever links; overwriting one would make the
 * store unusable.
 */
export const isStoreFile = (config: Config, path: string): boolean =>
  placesOf(path).some((place) => storeFiles(config).includes(place))

export function storeFiles({ storage, sealKeyFile, sealPreviousKeyFile }: Config): string[] {
  const paths = storage.kind === 'sqlite' ? placesOf(storage.path) : []
  const database = paths.flatMap((path) => ['', '-wal', '-shm', '.lock'].map((end) => `${path}${end}`))
  return [sealKeyFile, sealPreviousKeyFile ?? sealKeyFile, ...database].flatMap(placesOf)
}

const placesOf = (path: string): string[] => [placeOf(path), realPathOf(path)]

export const isInside = (folder: string, file: string): boolean =>
  !/^\.\.(?:\/|$)/.test(relative(realPathOf(folder), file))
