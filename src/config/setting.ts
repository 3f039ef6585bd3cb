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

/** A setting with a default. */
export const setting = <Schema extends z.ZodType>(
  schema: Schema,
  name: string,
  fallback: string,
  about: string,
) => ({ name, fallback, secret: false, about, schema })

/** A setting that may be absent. */
export const optional = <Schema extends z.ZodType>(schema: Schema, name: string, about: string) => ({
  name,
  fallback: undefined,
  secret: false,
  about,
  schema,
})

/** One that may be absent, and whose value is never shown. */
export const secret = <Schema extends z.ZodType>(schema: Schema, name: string, about: string) => ({
  ...optional(schema, name, about),
  secret: true,
})
