import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const source = join(import.meta.dirname, 'shim.c')

/** Why the answers of the system cannot be chosen here; undefined if they can. */
export const noFakedSystem: string | undefined =
  process.platform === 'linux' && spawnSync('cc', ['-fsyntax-only', source], { stdio: 'ignore' }).status === 0
    ? undefined
    : 'this needs Linux, a C compiler (cc) and the headers of glibc'

/** What the system tells a process that is started with this environment. */
export type FakedSystem = {
  readonly environment: Readonly<Record<string, string>>
  /** From now on, no lookup of a name below `silent.test` returns. Before, they lead to 127.0.0.1. */
  silenceNames(): void
  answerNames(): void
}

/** `folder` holds the built library. `diskType` is what `statfs` reports for every file system. */
export function fakeSystem(folder: string, { diskType }: { diskType?: number } = {}): FakedSystem {
  const library = join(folder, 'system.so')
  const silent = join(folder, 'system.silent')
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'])
  return {
    environment: {
      LD_PRELOAD: library,
      SYSTEM_SILENT: silent,
      ...(diskType === undefined ? {} : { SYSTEM_DISK_TYPE: String(diskType) }),
    },
    silenceNames: () => writeFileSync(silent, ''),
    answerNames: () => rmSync(silent),
  }
}
