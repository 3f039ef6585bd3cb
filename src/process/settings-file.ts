import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { SettingError } from '../config/setting.ts'
import { systemReason } from '../lib/system/private-file.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** `--env-file=PATH` or `--env-file PATH`; the last one has precedence. */
const option = /^--env-file(?:-if-exists)?(?:=(.*))?$/s

/**
 * The file in the options of Node.js, with which it completed the environment at the start, if there is one. What is
 * no file can be read only once, like a pipe. A variable that the process was given otherwise has precedence over the
 * file, also when the file changes.
 */
export function settingsFileOf(options: readonly string[], environment: Environment) {
  const index = options.findLastIndex((text) => option.test(text))
  const given = option.exec(options[index] ?? '')?.[1] ?? options[index + 1]
  const isFile = index >= 0 && given !== undefined && statSync(given, { throwIfNoEntry: false })?.isFile()
  if (!isFile) return undefined
  const path = resolve(given)
  const atStart = variablesIn(path)
  const isOwn = (name: string) => environment[name] === atStart[name]
  return {
    /** The environment that a start would have now. Throws a SettingError. */
    read: (): Environment => {
      const now = variablesIn(path)
      const names = Object.keys({ ...atStart, ...now }).filter(isOwn)
      return { ...environment, ...Object.fromEntries(names.map((name) => [name, now[name]])) }
    },
  }
}

function variablesIn(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new SettingError(`cannot read the settings in ${path}: ${systemReason(cause)}`)
  }
}
