import { join } from 'node:path'
import { read } from './deployed.ts'

export const unitFile = 'deploy/systemd/gatehouse.service'

/** The directives of the unit: each name with its values, in order. */
export const directives = new Map<string, string[]>()
for (const [, name = '', value = ''] of read(unitFile).matchAll(/^(\w+)=(.*)$/gm))
  directives.set(name, [...(directives.get(name) ?? []), value])
export const directive = (name: string): string => directives.get(name)?.at(-1) ?? ''

/** The unit's environment, with its folders below `folder`. */
export const environmentIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    (directives.get('Environment') ?? [])
      .flatMap((line) => line.split(' '))
      .map((one) => one.replace(/%([dSL])/, (_, letter: string) => join(folder, letter)).split(/=(.*)/s)),
  )

/** Where the unit has its program. */
export const program = '/usr/local/bin/gatehouse'
