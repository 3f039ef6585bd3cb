import { readFileSync } from 'node:fs'
import { systemReason } from '../lib/system/private-file.ts'
import { cloudSettings, type EnvironmentSettings } from './cloud.ts'
import { checkCombinations, checkTls } from './combinations.ts'
import { type Setting, SettingError } from './setting.ts'
import { type Config, type Settings, settings } from './settings.ts'
import { readTracing } from './tracing.ts'

const injected = /_(?:SERVICE_HOST|SERVICE_PORT(?:_.*)?|PORT|PORT_\d+_.*)$/

const devFallbacks: Partial<Record<keyof Settings, string>> = {
  storage: 'memory:',
  rootToken: 'root',
  logFormat: 'text',
  defaultMounts: 'auth/jwt=jwt,cloud=cloud,secret=kv-v2',
}

/** Log settings before validation, so that an invalid setting is reported in the requested format. */
export function logSettings(
  environment: Readonly<Record<string, string | undefined>>,
  dev: boolean,
): Pick<Config, 'logFormat' | 'replicaName'> {
  const format =
    environment['GATEHOUSE_LOG_FORMAT'] ?? (dev ? devFallbacks.logFormat : settings.logFormat.fallback)
  return {
    logFormat: format === 'text' ? 'text' : 'json',
    replicaName: environment['GATEHOUSE_REPLICA_NAME'],
  }
}

/**
 * Reads the environment. Throws a SettingError that names the first invalid setting; reports unknown
 * `GATEHOUSE_` names to `warn`. docs/settings.md
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  options: { dev: boolean; warn(text: string): void },
): Config {
  const known = new Set<string>()
  const values: Record<string, unknown> = {
    dev: options.dev,
    cloud: readCloudSettings(environment),
    httpsProxy: environment['HTTPS_PROXY'] || environment['https_proxy'],
    noProxy: environment['NO_PROXY'] || environment['no_proxy'],
    tracing: readTracing(environment),
  }
  for (const [key, entry] of Object.entries(settings) as [keyof Settings, Setting][]) {
    const name = `GATEHOUSE_${entry.name}`
    known.add(name)
    if (entry.name === inFile) known.add(`${name}_FILE`)
    const text = given(environment, entry) ?? (options.dev ? devFallbacks[key] : undefined) ?? entry.fallback
    if (text === undefined) continue
    values[key] = parseSetting(entry, name, text)
  }
  for (const name of Object.keys(environment)) {
    if (name.startsWith('GATEHOUSE_') && !known.has(name) && !injected.test(name))
      options.warn(`unknown setting ${name}`)
  }
  // the loop above adds exactly the members of the table
  const config = values as unknown as Config
  checkCombinations(config, environment)
  return Object.freeze(config)
}

/** The secret that may also be in a file. Other secrets have a setting of their own for it. */
const inFile = settings.audit.name

/** Settings that SIGHUP reads again from the settings file. */
const reloadable = ['tlsCertFile', 'tlsKeyFile', 'tlsClientCaFile', 'logLevel', 'customHeadersFile'] as const

export type Reloadable = Pick<Config, (typeof reloadable)[number]>

/** Reads only these settings again. Throws a SettingError. docs/settings.md#change-settings-without-a-restart */
export function rereadConfig(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): Config {
  const values: Record<string, unknown> = { ...config }
  for (const key of reloadable) {
    const { name, fallback } = settings[key]
    const text = environment[`GATEHOUSE_${name}`] ?? fallback
    values[key] = text === undefined ? undefined : parseSetting(settings[key], `GATEHOUSE_${name}`, text)
  }
  // the loop above replaces members with their like
  const changed = values as unknown as Config
  checkTls(changed)
  return Object.freeze(changed)
}

function given(environment: Readonly<Record<string, string | undefined>>, { name }: Setting) {
  const text = environment[`GATEHOUSE_${name}`]
  const file = name === inFile ? environment[`GATEHOUSE_${name}_FILE`] : undefined
  if (file === undefined) return text
  if (text !== undefined)
    throw new SettingError(`GATEHOUSE_${name}: must not be set together with GATEHOUSE_${name}_FILE`)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new SettingError(`GATEHOUSE_${name}_FILE: cannot read ${file}: ${systemReason(cause)}`)
  }
}

function readCloudSettings(environment: Readonly<Record<string, string | undefined>>): EnvironmentSettings {
  const given = Object.entries(cloudSettings).flatMap(([key, entry]) => {
    const text = environment[entry.name] ?? ''
    return text === '' ? [] : [[key, parseSetting(entry, entry.name, text)]]
  })
  // the entries are those of the table above, and all are strings
  return Object.freeze(Object.fromEntries(given) as EnvironmentSettings)
}

function parseSetting(entry: Setting, name: string, text: string): unknown {
  const parsed = entry.schema.safeParse(text)
  if (!parsed.success) throw new SettingError(`${name}: ${parsed.error.issues[0]?.message ?? 'invalid'}`)
  return parsed.data
}
