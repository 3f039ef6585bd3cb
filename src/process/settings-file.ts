import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { SettingError } from '../config/setting.ts'
import { systemReason } from '../lib/system/private-file.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** `--env-file=PATH` or `--env-file PATH`; the last one has precedence. */
const option = /^--env-file(?:-if-exists)?(?:=(.*))?$/s

/**
 * The file with which Node.js completed the environment at the start. A variable that the process was given
 * otherwise has precedence over the file, also when the file changes.
 */
class SettingsFile {
  readonly #path: string
  readonly #environment: Environment
  readonly #atStart: Environment

  constructor(path: string, environment: Environment) {
    this.#path = resolve(path)
    this.#environment = environment
    this.#atStart = variablesIn(this.#path)
  }

  /** The environment that a start would have now. Throws a SettingError. */
  read(): Environment {
    const changed = { ...this.#environment }
    const isOwn = (name: string) => this.#environment[name] === this.#atStart[name]
    const now = variablesIn(this.#path)
    for (const name of Object.keys({ ...this.#atStart, ...now })) if (isOwn(name)) changed[name] = now[name]
    return changed
  }
}

/** The file in the options of Node.js, if there is one. What is no file can be read only once, like a pipe. */
export function settingsFileOf(options: readonly string[], environment: Environment) {
  const index = options.findLastIndex((text) => option.test(text))
  const path = option.exec(options[index] ?? '')?.[1] ?? options[index + 1]
  const isFile = index >= 0 && path !== undefined && statSync(path, { throwIfNoEntry: false })?.isFile()
  return isFile ? new SettingsFile(path, environment) : undefined
}

function variablesIn(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new SettingError(`cannot read the settings in ${path}: ${systemReason(cause)}`)
  }
}
