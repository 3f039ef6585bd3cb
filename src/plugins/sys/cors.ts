import { z } from 'zod'
import type { Core } from '../../core/open/core.ts'
import { type CorsSettings, listedHeaders } from '../../core/settings/cors-settings.ts'
import { fail, refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { boolField, commaListField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'

const input = z.object({
  allowed_origins: commaListField
    .default([])
    .describe('Origins as browsers send them, such as https://app.example.com; a lone * allows every origin'),
  allowed_headers: commaListField
    .default([])
    .describe('Request headers that pages may send in addition to the default ones'),
  allow_credentials: boolField
    .default(false)
    .describe('Allow credentialed requests: Access-Control-Allow-Credentials'),
})
const output = z.object({
  enabled: z.boolean(),
  allowed_origins: z.array(z.string()).optional(),
  allowed_headers: z.array(z.string()).optional(),
  allow_credentials: z.boolean().optional(),
})

const most = { origins: 1000, originLength: 1024, headers: 100, headerLength: 128 }
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** `sys/config/cors`: origins whose pages may read responses. docs/contract/http.md#pages-of-other-origins */
export function corsResources({ cors, history: store }: Pick<Core, 'cors' | 'history'>): Resource[] {
  return [
    resource('/config/cors', {
      help: 'The origins whose pages may read responses of this server (CORS).',
      history: {
        store,
        record: () => cors.recordKey,
        path: () => 'config/cors',
        form: async () => {
          const settings = await cors.read()
          return (
            settings && {
              allowed_origins: settings.origins,
              allowed_headers: settings.headers,
              allow_credentials: settings.credentials,
            }
          )
        },
      },
      sudo: true,
      read: {
        summary: 'Read the CORS settings',
        output,
        example: shown({ origins: ['https://app.example.com'], headers: [], credentials: false }),
        handle: async () => ({ data: shown(await cors.read()) }),
      },
      write: {
        summary: 'Replace the CORS settings',
        required: ['allowed_origins'],
        input,
        handle: async ({ input: { allowed_origins, allowed_headers, allow_credentials } }) => {
          const settings = {
            origins: allowed_origins,
            headers: allowed_headers.filter((name) => name !== ''),
            credentials: allow_credentials,
          }
          checkSettings(settings)
          await cors.put(settings)
        },
      },
      delete: { summary: 'Turn CORS off', handle: () => cors.put(undefined) },
    }),
  ]
}

function shown(settings: CorsSettings | undefined): z.output<typeof output> {
  if (settings === undefined) return { enabled: false }
  return {
    enabled: true,
    allowed_origins: [...settings.origins],
    allowed_headers: listedHeaders(settings),
    allow_credentials: settings.credentials,
  }
}

function checkSettings({ origins, headers }: CorsSettings): void {
  if (origins.length === 0) throw fail('invalid', 'at least one origin or the wildcard must be provided')
  if (origins.length > 1 && origins.includes('*'))
    throw fail('invalid', "to allow all origins the '*' must be the only value for allowed_origins")
  if (origins.length > most.origins) throw refuse('invalid', `allowed_origins: more than ${most.origins}`)
  if (origins.some((origin) => origin.length > most.originLength)) {
    throw refuse('invalid', `allowed_origins: one is longer than ${most.originLength} characters`)
  }
  if (headers.length > most.headers) throw refuse('invalid', `allowed_headers: more than ${most.headers}`)
  // the names are sent in Access-Control-Allow-Headers
  const bad = headers.find((name) => name.length > most.headerLength || !headerName.test(name))
  if (bad !== undefined)
    throw refuse('invalid', `allowed_headers: ${quoted(bad)} is not the name of a header`)
}
