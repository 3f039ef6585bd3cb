import type { z } from 'zod'
import { auditSettings } from './audit.ts'
import type { EnvironmentSettings } from './cloud.ts'
import { httpSettings } from './http.ts'
import { limitSettings } from './limits.ts'
import { mountSettings } from './mounts.ts'
import { outboundSettings } from './outbound.ts'
import { productSettings } from './product.ts'
import { reportSettings } from './reports.ts'
import { sealSettings } from './seal.ts'
import type { Setting } from './setting.ts'
import { storageSettings } from './storage.ts'
import type { TracingSettings } from './tracing.ts'

/**
 * All settings. The environment variable is `GATEHOUSE_<name>`. Values of `secret` settings are never
 * printed. docs/settings.md
 */
export const settings = {
  ...httpSettings,
  ...storageSettings,
  ...sealSettings,
  ...mountSettings,
  ...auditSettings,
  ...reportSettings,
  ...limitSettings,
  ...outboundSettings,
  ...productSettings,
}

export type Settings = typeof settings

type Value<Entry extends Setting> = Entry['fallback'] extends string
  ? z.output<Entry['schema']>
  : z.output<Entry['schema']> | undefined

export type Config = { readonly [Name in keyof Settings]: Value<Settings[Name]> } & {
  /** Development mode: text log, fixed root token, and memory storage unless another one is set. */
  readonly dev: boolean
  /** The number of this process, if it is one of several. docs/replicas.md#worker-processes */
  readonly worker?: number
  readonly processes?: number
  readonly cloud: EnvironmentSettings
  /** `HTTPS_PROXY` and `NO_PROXY`, or their lower-case forms, for outgoing requests. */
  readonly httpsProxy: string | undefined
  /** Undefined: no traces are made. */
  readonly tracing: TracingSettings | undefined
  readonly noProxy: string | undefined
}
