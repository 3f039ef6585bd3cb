import { z } from 'zod'
import type { MountTypeRegistry } from '../../../core/mounts/mount-type-registry.ts'
import { type Resource, resource } from '../../../http/resource/resource.ts'

type CatalogParts = { readonly types: Pick<MountTypeRegistry, 'offeredTypes'>; readonly version: string }

const texts = z.array(z.string())
const plugin = z.object({
  name: z.string(),
  type: z.string(),
  builtin: z.boolean(),
  version: z.string(),
  deprecation_status: z.string(),
})
const examplePlugin = {
  name: 'kv',
  type: 'secret',
  builtin: true,
  version: 'v1.16.3+builtin.gatehouse',
  deprecation_status: 'supported',
}
const names = z.object({ keys: texts, key_info: z.object({}).optional() })
const catalog = z.object({ auth: texts, database: texts, secret: texts, detailed: z.array(plugin) })
const onePlugin = z.object({
  args: z.null(),
  builtin: z.boolean(),
  command: z.string(),
  deprecation_status: z.string(),
  name: z.string(),
  sha256: z.string(),
  version: z.string(),
})

const tables = ['auth', 'database', 'secret'] as const

/** The types of mounts, as a catalog of plugins that are built in. docs/contract/node.md#features-that-are-off */
export function pluginCatalogResources({ types, version: reported }: CatalogParts): Resource[] {
  const version = `v${reported.split('+', 1)[0]}+builtin.gatehouse`
  const namesOf = (table: (typeof tables)[number]): string[] =>
    table === 'database' ? [] : types.offeredTypes(table).toSorted()
  const status = { builtin: true, version, deprecation_status: 'supported' }
  return [
    resource('/plugins/catalog', {
      help: 'The types of mounts, which are built in.',
      collection: true,
      read: {
        summary: 'Read the catalog of plugins',
        output: catalog,
        example: { auth: ['jwt'], database: [], secret: ['kv'], detailed: [examplePlugin] },
        handle: () => ({
          data: {
            ...Object.fromEntries(tables.map((table) => [table, namesOf(table)])),
            detailed: tables.flatMap((type) => namesOf(type).map((name) => ({ name, type, ...status }))),
          },
        }),
      },
    }),
    ...tables.flatMap((table) => [
      resource(`/plugins/catalog/${table}`, {
        help: 'The types of mounts of this kind.',
        sudo: true,
        collection: true,
        list: {
          summary: `List the plugins of type ${table}`,
          output: names,
          example: { keys: ['jwt'] },
          // a list of nothing but keys would be 404 without one
          handle: () => ({ data: { keys: namesOf(table), ...(table === 'database' && { key_info: {} }) } }),
        },
      }),
      resource(`/plugins/catalog/${table}/:name`, {
        help: 'One type of mounts.',
        sudo: true,
        read: {
          summary: `Read a plugin of type ${table}`,
          output: onePlugin,
          example: {
            args: null,
            command: '',
            name: 'jwt',
            sha256: '',
            ...status,
            version: examplePlugin.version,
          },
          handle: ({ params: { name } }) =>
            namesOf(table).includes(name)
              ? { data: { args: null, command: '', name, sha256: '', ...status } }
              : undefined,
        },
      }),
    ]),
  ]
}
