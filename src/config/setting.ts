import type { z } from 'zod'

/** A setting is invalid. The process logs the message and exits with code 2. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

export type Setting = {
  readonly name: string
  readonly fallback: string | undefined
  readonly secret: boolean
  readonly about: string
  readonly schema: z.ZodType
}

export const setting = <Schema extends z.ZodType, Fallback extends string | undefined>(
  schema: Schema,
  name: string,
  fallback: Fallback,
  about: string,
  secret = false,
) => ({ name, fallback, secret, about, schema })
