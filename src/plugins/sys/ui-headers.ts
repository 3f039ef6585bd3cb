import { z } from 'zod'
import type { Core } from '../../core/open/core.ts'
import { canonicalHeader, protectiveHeaders, withUiHeader } from '../../core/settings/ui-headers.ts'
import { refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { boolField, stringListField } from '../../lib/text/fields.ts'

/** `sys/config/ui/headers`: response headers of the web UI. docs/contract/http.md#headers-of-the-web-ui */
export const uiHeaderResources = ({
  uiHeaders,
  history: store,
}: Pick<Core, 'uiHeaders' | 'history'>): Resource[] => [
  resource('/config/ui/headers', {
    help: 'The response headers that are set for the web UI.',
    sudo: true,
    collection: true,
    list: {
      summary: 'List the response headers of the web UI',
      example: { keys: ['X-Frame-Options'] },
      handle: async () => ({ data: { keys: Object.keys((await uiHeaders.read()) ?? {}).sort() } }),
    },
  }),
  resource('/config/ui/headers/:header', {
    help: 'A response header of the web UI, in addition to its own headers or instead of one.',
    history: {
      store,
      record: () => uiHeaders.recordKey,
      path: ({ params }) => `config/ui/headers/${canonicalHeader(params.header)}`,
      form: async ({ params }) => {
        const values = (await uiHeaders.read())?.[canonicalHeader(params.header)]
        return values && { values }
      },
    },
    sudo: true,
    read: {
      summary: 'Read a response header of the web UI',
      input: z.object({ multivalue: boolField.default(false).describe('Return all values') }),
      output: z.object({ value: z.string().optional(), values: z.array(z.string()).optional() }),
      example: { value: 'DENY' },
      handle: async ({ params, input }) => {
        const values = (await uiHeaders.read())?.[canonicalHeader(params.header)]
        if (values === undefined) throw refuse('missing', '')
        return { data: input.multivalue ? { values } : { value: values[0] } }
      },
    },
    write: {
      summary: 'Set a response header of the web UI',
      required: ['values'],
      statuses: [200],
      input: z.object({
        values: stringListField.default([]).describe('The values; several are sent as one list'),
      }),
      handle: async ({ params: { header }, input: { values } }) => {
        if (values.length === 0) throw refuse('invalid', 'header and values must be specified')
        await uiHeaders.change((headers = {}) => withUiHeader(headers, header, values))
        return { data: null, warnings: warningsFor(header) }
      },
    },
    delete: {
      summary: 'Remove a response header of the web UI',
      handle: ({ params: { header } }) =>
        uiHeaders.change(({ [canonicalHeader(header)]: _removed, ...rest } = {}) => rest),
    },
  }),
]

const warningsFor = (header: string): string[] =>
  [...protectiveHeaders, 'strict-transport-security']
    .filter((name) => name === header.toLowerCase())
    .map(
      (name) =>
        `overriding default ${canonicalHeader(name)} which is secure by default, proceed with caution`,
    )
